#include "debezium/debezium_login.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "base/text.h"
#include "debezium/debezium_rules.h"

namespace walrelay {
namespace {

constexpr std::string_view kBuiltIn = "walrelay has this login built in";
constexpr std::string_view kExtensionPrefix = "extension_";

// Properties whose value only tunes Java's own client.
constexpr PropertyRule kMeaninglessTokenRules[] = {
    {"sasl.oauthbearer.header.urlencode", "walrelay encodes the client's credentials as RFC 6749"},
    {"sasl.login.connect.timeout.ms", "kafka.oauth.timeout bounds a request"},
    {"sasl.login.read.timeout.ms", "kafka.oauth.timeout bounds a request"},
    {"sasl.login.retry.*", "walrelay retries with a back-off"},
    {"sasl.login.refresh.*", "walrelay refreshes a token after 80 % of its lifetime"},
};

// A secret may come from a config provider; then the operator supplies it in a file.
PropertyResult SetClientSecret(const std::string& value, DebeziumTranslation& out) {
  return value.find("${") == std::string::npos ? out.Set("kafka.oauth.client_secret", value)
                                               : out.Want("kafka.oauth.client_secret_file");
}

void SetIfGiven(const JaasLogin& login, const char* option, const std::string& setting,
                DebeziumTranslation& out) {
  if (const auto found = login.options.find(option); found != login.options.end()) {
    out.settings[setting] = found->second;
  }
}

// The first option that walrelay does not know; "" if there is none.
template <size_t count>
std::string UnknownOption(const JaasLogin& login, const std::string_view (&known)[count]) {
  for (const auto& [name, value] : login.options) {
    if (!name.starts_with(kExtensionPrefix) &&
        std::find(std::begin(known), std::end(known), name) == std::end(known)) {
      return name;
    }
  }
  return "";
}

PropertyResult UnknownOptionResult(const std::string& option, const std::string& section) {
  return Refused(
      fmt::format("walrelay has no equivalent of the login's option {}", Printable(option, 80)),
      section);
}

PropertyResult TranslateIam(const JaasLogin& login, DebeziumTranslation& out) {
  constexpr std::string_view kKnown[] = {"awsRoleArn", "awsRoleSessionName", "awsStsRegion",
                                         "awsDebugCreds"};
  if (const std::string unknown = UnknownOption(login, kKnown); !unknown.empty()) {
    return UnknownOptionResult(unknown, "kafka.aws.role_arn");
  }
  SetIfGiven(login, "awsRoleArn", "kafka.aws.role_arn", out);
  SetIfGiven(login, "awsRoleSessionName", "kafka.aws.role_session_name", out);
  return Translated("kafka.aws", "credentials come from the environment of walrelay");
}

// SASL extensions are a list in walrelay.
std::string ExtensionsOf(const JaasLogin& login) {
  std::string list;
  for (const auto& [name, value] : login.options) {
    if (name.starts_with(kExtensionPrefix)) {
      list += fmt::format("{}{}={}", list.empty() ? "" : ",", name.substr(kExtensionPrefix.size()),
                          value);
    }
  }
  return list;
}

PropertyResult TranslateOauth(const JaasLogin& login, DebeziumTranslation& out) {
  constexpr std::string_view kKnown[] = {"clientId", "clientSecret", "scope"};
  if (const std::string unknown = UnknownOption(login, kKnown); !unknown.empty()) {
    return UnknownOptionResult(unknown, "kafka.oauth.token_endpoint");
  }
  if (const std::string extensions = ExtensionsOf(login); !extensions.empty()) {
    out.settings["kafka.oauth.extensions"] = extensions;
  }
  SetIfGiven(login, "clientId", "kafka.oauth.client_id", out);
  SetIfGiven(login, "scope", "kafka.oauth.scope", out);
  const auto secret = login.options.find("clientSecret");
  if (secret == login.options.end()) {
    return Translated("kafka.oauth");
  }
  const PropertyResult result = SetClientSecret(secret->second, out);
  return out.settings.contains("kafka.oauth.client_secret")
             ? Translated("kafka.oauth.client_id, kafka.oauth.client_secret",
                          "prefer a file: kafka.oauth.client_secret_file")
             : result;
}

// Java reads a token from a file by a URL of another scheme.
PropertyResult TranslateEndpoint(const std::string& url, DebeziumTranslation& out) {
  constexpr std::string_view kFile = "file://";
  return url.starts_with(kFile) ? out.Set("kafka.oauth.token_file", url.substr(kFile.size()))
                                : out.Set("kafka.oauth.token_endpoint", url);
}

// The classes of Kafka itself and of AWS's library do what walrelay does; any other is code.
std::optional<PropertyResult> TranslateHandler(const std::string& handler) {
  for (const std::string_view known :
       {"software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"}) {
    if (handler == known) {
      return Equivalent(std::string(kBuiltIn));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<PropertyResult> TranslateTokenLogin(const JaasLogin& login,
                                                  DebeziumTranslation& out) {
  if (login.module == "software.amazon.msk.auth.iam.IAMLoginModule") {
    return TranslateIam(login, out);
  }
  if (login.module == "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule") {
    return TranslateOauth(login, out);
  }
  return std::nullopt;
}

std::optional<PropertyResult> TranslateTokenProperty(std::string_view name,
                                                     const DebeziumProperty& property,
                                                     DebeziumTranslation& out) {
  if (name == "sasl.client.callback.handler.class" || name == "sasl.login.callback.handler.class") {
    return TranslateHandler(property.value);
  }
  if (name == "sasl.oauthbearer.token.endpoint.url") {
    return TranslateEndpoint(property.value, out);
  }
  if (name == "sasl.oauthbearer.client.credentials.client.id") {
    return out.Set("kafka.oauth.client_id", property.value);
  }
  if (name == "sasl.oauthbearer.client.credentials.client.secret") {
    return SetClientSecret(property.value, out);
  }
  if (name == "sasl.oauthbearer.scope") {
    return out.Set("kafka.oauth.scope", property.value);
  }
  if (const PropertyRule* rule = FindRule(kMeaninglessTokenRules, name)) {
    return Meaningless(rule->reason);
  }
  return std::nullopt;
}

}  // namespace walrelay

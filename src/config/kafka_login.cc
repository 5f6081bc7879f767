#include "config/kafka_login.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "config/option_value.h"
#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

// A key of [kafka.oauth] that only one source of tokens uses.
struct OauthKey {
  std::string_view name;
  bool is_set;
};

std::string_view FirstSet(std::initializer_list<OauthKey> keys) {
  const auto* found =
      std::find_if(keys.begin(), keys.end(), [](const OauthKey& key) { return key.is_set; });
  return found == keys.end() ? std::string_view() : found->name;
}

// librdkafka would reject them at run time.
absl::Status ValidateExtension(std::string_view extension) {
  const std::string_view name = extension.substr(0, extension.find('='));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool has_value = name.size() < extension.size();
  if (has_value && !name.empty() && name != "auth" &&
      std::all_of(name.begin(), name.end(), is_letter) &&
      std::all_of(extension.begin(), extension.end(),
                  [](char c) { return c >= ' ' && c < 0x7F; })) {
    return absl::OkStatus();
  }
  return InvalidValue(fmt::format(
      "kafka.oauth.extensions: expected name=value, with letters as the name, got \"{}\"",
      Printable(extension, 80)));
}

absl::Status ValidateOidc(const OauthConfig& oauth) {
  if (oauth.token_endpoint.empty()) {
    const std::string_view key =
        FirstSet({{"client_id", !oauth.client_id.empty()},
                  {"client_secret", !oauth.client_secret.empty()},
                  {"client_secret_file", !oauth.client_secret_file.empty()},
                  {"scope", !oauth.scope.empty()},
                  {"token_endpoint_ca_file", !oauth.token_endpoint_ca_file.empty()}});
    return key.empty() ? absl::OkStatus()
                       : InvalidValue(fmt::format("kafka.oauth.{} requires token_endpoint", key));
  }
  if (!oauth.token_endpoint.starts_with("https://") &&
      !oauth.token_endpoint.starts_with("http://")) {
    return InvalidValue("kafka.oauth.token_endpoint: expected an https URL");
  }
  if (oauth.client_id.empty() ||
      (oauth.client_secret.empty() && oauth.client_secret_file.empty())) {
    return InvalidValue("kafka.oauth.token_endpoint requires client_id and client_secret_file");
  }
  return absl::OkStatus();
}

absl::Status ValidateOauth(const OauthConfig& oauth) {
  const int sources = int{!oauth.token_file.empty()} + int{!oauth.token_command.empty()} +
                      int{!oauth.token_endpoint.empty()};
  if (sources != 1) {
    return InvalidValue(
        fmt::format("kafka.sasl_mechanism \"OAUTHBEARER\": expected exactly one of token_file, "
                    "token_command and token_endpoint in [kafka.oauth], got {}",
                    sources));
  }
  if (!oauth.token_command.empty() && oauth.token_command.front().empty()) {
    return InvalidValue(
        "kafka.oauth.token_command: expected a program and its arguments, got \"\"");
  }
  if (oauth.token_lifetime < std::chrono::seconds(1)) {
    return InvalidValue("kafka.oauth.token_lifetime: expected at least one second");
  }
  for (const std::string& extension : oauth.extensions) {
    WR_RETURN_IF_ERROR(ValidateExtension(extension));
  }
  return ValidateOidc(oauth);
}

// A key of another mechanism would be ignored: it shows that the mechanism is not the intended one.
absl::Status ValidateUnused(const KafkaConfig& kafka, bool oauth, bool aws) {
  const OauthConfig& keys = kafka.oauth;
  if (!oauth &&
      (!keys.token_file.empty() || !keys.token_command.empty() || !keys.token_endpoint.empty())) {
    return InvalidValue("[kafka.oauth] requires kafka.sasl_mechanism = \"OAUTHBEARER\"");
  }
  if (!aws && !(kafka.aws.region.empty() && kafka.aws.role_arn.empty())) {
    return InvalidValue("[kafka.aws] requires kafka.sasl_mechanism = \"AWS_MSK_IAM\"");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateKafkaLogin(const KafkaConfig& kafka) {
  const bool oauth = kafka.sasl_mechanism == "OAUTHBEARER";
  const bool aws = kafka.sasl_mechanism == "AWS_MSK_IAM";
  WR_RETURN_IF_ERROR(ValidateUnused(kafka, oauth, aws));
  if ((oauth || aws) && !kafka.security_protocol.starts_with("SASL_")) {
    return InvalidValue(fmt::format(
        "kafka.sasl_mechanism \"{}\" requires kafka.security_protocol \"SASL_SSL\", got \"{}\"",
        kafka.sasl_mechanism, kafka.security_protocol));
  }
  if (kafka.oauth.timeout < std::chrono::seconds(1)) {
    return InvalidValue("kafka.oauth.timeout: expected at least one second");
  }
  return oauth ? ValidateOauth(kafka.oauth) : absl::OkStatus();
}

}  // namespace walrelay

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/choices.h"
#include "config/kafka_login.h"
#include "config/option_rows.h"
#include "config/section.h"
#include "route/topic_name.h"
#include "walrelay/progress.h"

namespace walrelay {
namespace {

// Kafka's names, passed to librdkafka as they are.
constexpr std::string_view kSecurityProtocols[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT",
                                                   "SASL_SSL"};

// A list is Kafka's usual form elsewhere, so the message says what to write.
absl::Status SetBrokers(Config& config, const RawValue& value) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  return list == nullptr
             ? ParseInto(value, config.kafka.bootstrap_servers)
             : InvalidValue(fmt::format("expected one string with commas, \"{}\"",
                                        Printable(fmt::format("{}", fmt::join(*list, ",")), 200)));
}

// The port behind the last colon outside of the brackets of an IPv6 address; nullopt without one.
std::optional<std::string_view> PortOf(std::string_view address) {
  const size_t bracket = address.rfind(']');
  const size_t colon = address.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  return has_port ? std::optional(address.substr(colon + 1)) : std::nullopt;
}

bool IsPort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// The error in an entry of kafka.bootstrap_servers, as a text that follows the value; "": none.
// librdkafka accepts a security protocol in front of an address, in any case, and ignores an entry
// whose protocol it does not know.
std::string BrokerError(std::string_view server) {
  server.remove_prefix(std::min(server.find_first_not_of(' '), server.size()));
  server = server.substr(0, server.find_last_not_of(' ') + 1);
  if (const size_t scheme = server.find("://"); scheme != std::string_view::npos) {
    std::string name(server.substr(0, scheme));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (std::ranges::find(kSecurityProtocols, name) == std::end(kSecurityProtocols)) {
      return fmt::format("; \"{}\" is no protocol of Kafka, write \"{}\"",
                         Printable(server.substr(0, scheme + 3), 20),
                         Printable(server.substr(scheme + 3), 80));
    }
    server.remove_prefix(scheme + 3);
  }
  const auto port = PortOf(server);
  if (port && !IsPort(*port)) {
    return fmt::format("; \"{}\" is not a port", Printable(*port, 40));
  }
  return server.empty() || server.starts_with(':') ? "; a host is missing" : "";
}

using enum OptionType;
constexpr auto kKafka = &Config::kafka;
constexpr auto kOauth = &KafkaConfig::oauth;
constexpr auto kAws = &KafkaConfig::aws;

// Values of librdkafka, passed to it as they are.
constexpr std::string_view kCompressions[] = {"none", "lz4", "zstd", "gzip", "snappy"};
constexpr std::string_view kSaslMechanisms[] = {"PLAIN",       "SCRAM-SHA-256", "SCRAM-SHA-512",
                                                "OAUTHBEARER", "AWS_MSK_IAM",   "GSSAPI"};

constexpr Option kKafkaRows[] = {
    {"kafka",
     "bootstrap_servers",
     kString,
     {},
     "Bootstrap brokers: `host:port,host:port`.",
     SetBrokers,
     [](const Config& config) { return ToToml(config.kafka.bootstrap_servers); }},
    Row<kKafka, &KafkaConfig::client_id>("kafka", "client_id", kString, "The Kafka `client.id`."),
    Row<kKafka, &KafkaConfig::compression>("kafka", "compression", kChoice,
                                           "Compression of record batches.", kCompressions),
    // The range of librdkafka's message.max.bytes, which it would name in its own error.
    Within(SizeRow<kKafka, &KafkaConfig::max_record_bytes>(
               "kafka", "max_record_bytes",
               "The largest record to send; at most the topics' `max.message.bytes`."),
           "1000 to 1000000000 bytes",
           [](const Config& config) {
             return config.kafka.max_record_bytes >= 1'000 &&
                    config.kafka.max_record_bytes <= 1'000'000'000;
           }),
    // Up to the maximum of librdkafka's batch.size.
    Within(SizeRow<kKafka, &KafkaConfig::max_batch_bytes>(
               "kafka", "max_batch_bytes",
               "The largest batch of records. Brokers compare a topic's `max.message.bytes` with "
               "the batch; if a broker rejects a batch, walrelay automatically continues with "
               "smaller ones."),
           "1000 to 2147483647 bytes",
           [](const Config& config) {
             return config.kafka.max_batch_bytes >= 1'000 &&
                    config.kafka.max_batch_bytes <= std::numeric_limits<int32_t>::max();
           }),
    Row<kKafka, &KafkaConfig::security_protocol>(
        "kafka", "security_protocol", kChoice, "Security protocol for connections to the brokers.",
        kSecurityProtocols),
    Row<kKafka, &KafkaConfig::sasl_mechanism>(
        "kafka", "sasl_mechanism", kChoice,
        "How to log in to the brokers. Required with a security protocol `SASL_…`. `OAUTHBEARER` "
        "is configured in `[kafka.oauth]`, `AWS_MSK_IAM` in `[kafka.aws]`; [a "
        "guide](guides/kafka-logins.md) has an example of each.",
        kSaslMechanisms),
    Row<kKafka, &KafkaConfig::sasl_username>("kafka", "sasl_username", kString, "The user."),
    Row<kKafka, &KafkaConfig::sasl_password>("kafka", "sasl_password", kSecret,
                                             "The password. Prefer a file."),
    Row<kKafka, &KafkaConfig::sasl_password_file>(
        "kafka", "sasl_password_file", kString,
        "A file that contains the password. Read again every two seconds: a rotated password "
        "needs no restart. Must not be readable by other users."),
    Row<kKafka, &KafkaConfig::ssl_ca_file>(
        "kafka", "ssl_ca_file", kString,
        "Certificates of the authorities to trust (PEM). Default: the system's. When this "
        "file or one of the files below changes, walrelay continues with a new producer, "
        "without a restart."),
    Row<kKafka, &KafkaConfig::ssl_certificate_file>(
        "kafka", "ssl_certificate_file", kString,
        "The client's certificate chain (PEM), for mutual TLS."),
    Row<kKafka, &KafkaConfig::ssl_key_file>("kafka", "ssl_key_file", kString,
                                            "The client's private key (PEM)."),
    Row<kKafka, &KafkaConfig::ssl_key_password>("kafka", "ssl_key_password", kSecret,
                                                "The password of the private key. Prefer a file."),
    Row<kKafka, &KafkaConfig::ssl_key_password_file>(
        "kafka", "ssl_key_password_file", kString,
        "A file that contains the password of the private key. Must not be readable by other "
        "users."),
    Row<kKafka, &KafkaConfig::allow_insecure>("kafka", "allow_insecure", kBoolean,
                                              "Allow brokers on another host without TLS."),
    Within(Row<kKafka, &KafkaConfig::progress_topic>(
               "kafka", "progress_topic", kString,
               "The topic for `pipeline.progress`: one partition, compacted. walrelay creates it "
               "if it does not exist. Default: `walrelay.progress.<pipeline.id>`."),
           "the name of a topic",
           [](const Config& config) {
             return config.kafka.progress_topic.empty() ||
                    CheckTopicName(config.kafka.progress_topic).ok();
           }),
    // A transaction stays open for at most a third of it while brokers answer.
    Within(
        Row<kKafka, &KafkaConfig::transaction_timeout>(
            "kafka", "transaction_timeout", kDuration,
            "With `pipeline.mode = \"exactly_once\"`: brokers abort a transaction that is open for "
            "longer, for example of a relay that was killed and not restarted. Consumers wait that "
            "long for the records behind it. Limited by the brokers' "
            "`transaction.max.timeout.ms`."),
        "between \"10s\" and \"1h\"",
        [](const Config& config) {
          return config.kafka.transaction_timeout >= std::chrono::seconds(10) &&
                 config.kafka.transaction_timeout <= std::chrono::hours(1);
        }),

    PartRow<kKafka, kOauth, &OauthConfig::token_file>(
        "kafka.oauth", "token_file", kString,
        "A file that contains a token. Read again every two seconds. Must not be readable by other "
        "users. With `sasl_mechanism = \"OAUTHBEARER\"`, set exactly one of `token_file`, "
        "`token_command` and `token_endpoint`."),
    {"kafka.oauth",
     "token_command",
     kList,
     {},
     "A program and its arguments, run without a shell: it prints a token, or a JSON object with "
     "`access_token` and `expires_in`. Run again when 80 % of the token's lifetime has passed.",
     [](Config& config, const RawValue& value) {
       return ParseInto(value, config.kafka.oauth.token_command);
     },
     [](const Config& config) { return ShowCommand(config.kafka.oauth.token_command); }},
    PartRow<kKafka, kOauth, &OauthConfig::token_endpoint>(
        "kafka.oauth", "token_endpoint", kString,
        "The `https` URL of an OIDC provider's token endpoint: walrelay requests tokens with the "
        "client credentials grant."),
    PartRow<kKafka, kOauth, &OauthConfig::token_endpoint_ca_file>(
        "kafka.oauth", "token_endpoint_ca_file", kString,
        "Certificates of the authorities to trust for the token endpoint (PEM). Default: the "
        "system's."),
    PartRow<kKafka, kOauth, &OauthConfig::client_id>("kafka.oauth", "client_id", kString,
                                                     "The client at the token endpoint."),
    PartRow<kKafka, kOauth, &OauthConfig::client_secret>("kafka.oauth", "client_secret", kSecret,
                                                         "Its secret. Prefer a file."),
    PartRow<kKafka, kOauth, &OauthConfig::client_secret_file>(
        "kafka.oauth", "client_secret_file", kString,
        "A file that contains the secret. Read again for each token. Must not be readable by other "
        "users."),
    PartRow<kKafka, kOauth, &OauthConfig::scope>("kafka.oauth", "scope", kString,
                                                 "The scope to request from the token endpoint."),
    PartRow<kKafka, kOauth, &OauthConfig::extensions>(
        "kafka.oauth", "extensions", kList,
        "SASL extensions as `name=value`, such as Confluent Cloud's `logicalCluster=lkc-1` and "
        "`identityPoolId=pool-1`."),
    PartRow<kKafka, kOauth, &OauthConfig::token_lifetime>(
        "kafka.oauth", "token_lifetime", kDuration,
        "How long a token is valid that does not state it, neither as a JWT nor by `expires_in`."),
    PartRow<kKafka, kOauth, &OauthConfig::timeout>(
        "kafka.oauth", "timeout", kDuration,
        "Timeout of one run of the command, or of one request for a token or for AWS credentials."),

    PartRow<kKafka, kAws, &AwsConfig::region>(
        "kafka.aws", "region", kString,
        "The region of the MSK brokers. Default: from the first broker's name, else `AWS_REGION`, "
        "else `AWS_DEFAULT_REGION`."),
    PartRow<kKafka, kAws, &AwsConfig::role_arn>(
        "kafka.aws", "role_arn", kString,
        "A role to assume with the credentials of this process. Default: none."),
    PartRow<kKafka, kAws, &AwsConfig::role_session_name>("kafka.aws", "role_session_name", kString,
                                                         "The name of the role's session."),

    {"kafka.topics", "create", kChoice, kChoiceNames<CreateTopics>,
     "Who creates a missing topic before its first record. `never`: walrelay does not; brokers "
     "with `auto.create.topics.enable` do, with their own defaults. `check`: no topic is created, "
     "also not by the brokers; publishing is blocked until an operator creates it. `create`: "
     "walrelay creates it, as `[[kafka.topics.rules]]` say.",
     [](Config& config, const RawValue& value) {
       return ParseInto(value, config.kafka.topics.create);
     },
     [](const Config& config) { return ToToml(config.kafka.topics.create); }},
};

// Only the form: no name is resolved.
void CheckBrokers(const Config& config, ConfigNeeds needs, ConfigErrors& errors) {
  const std::string& servers = config.kafka.bootstrap_servers;
  if (needs.kafka && servers.empty()) {
    errors.Reject(
        "kafka.bootstrap_servers", "kafka.bootstrap_servers is missing",
        "Set the Kafka brokers: bootstrap_servers = \"host:9092\" in [kafka], --kafka, or "
        "WALRELAY_KAFKA__BOOTSTRAP_SERVERS.");
  }
  for (std::string_view rest = servers; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (const std::string wrong = BrokerError(rest.substr(0, comma)); !wrong.empty()) {
      errors.Reject(
          "kafka.bootstrap_servers",
          fmt::format("kafka.bootstrap_servers: expected host:port,host:port, got \"{}\"{}",
                      Printable(servers, 200), wrong));
      return;
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
}

bool IsPassedThrough(const Config& config, std::string_view property) {
  const auto& passed = config.kafka.librdkafka;
  return std::any_of(passed.begin(), passed.end(),
                     [&](const auto& entry) { return entry.first == property; });
}

// walrelay turns the property off unless create is "never": the two must not contradict each
// other.
void CheckTopics(const Config& config, ConfigErrors& errors) {
  const KafkaConfig& kafka = config.kafka;
  const bool on_demand =
      std::any_of(kafka.librdkafka.begin(), kafka.librdkafka.end(), [](const auto& property) {
        return property.first == "allow.auto.create.topics" && property.second == "true";
      });
  if (on_demand && kafka.topics.create != CreateTopics::kNever) {
    errors.Reject("kafka.topics.create",
                  fmt::format("kafka.topics.create \"{}\" excludes "
                              "kafka.librdkafka.allow.auto.create.topics = true",
                              NameOfChoice(kafka.topics.create)));
  }
}

// Records of progress and dead letters have topics of their own.
void CheckProgressTopic(const Config& config, ConfigErrors& errors) {
  if (config.on_error.dead_letter_topic.starts_with(kProgressTopicPrefix)) {
    errors.Reject("on_error.dead_letter_topic",
                  fmt::format("on_error.dead_letter_topic: topics that begin with {} have progress "
                              "records",
                              kProgressTopicPrefix));
  }
  if (!config.kafka.progress_topic.empty() &&
      config.kafka.progress_topic == config.on_error.dead_letter_topic) {
    errors.Reject("kafka.progress_topic",
                  "kafka.progress_topic and on_error.dead_letter_topic are the same topic");
  }
}

// librdkafka's default is GSSAPI, and its error names a property of Kerberos. An error is at the
// option that requires the missing one.
void CheckLogin(const Config& config, ConfigErrors& errors) {
  const KafkaConfig& kafka = config.kafka;
  if (!kafka.security_protocol.starts_with("SASL_")) {
    return;
  }
  if (kafka.sasl_mechanism.empty() && !IsPassedThrough(config, "sasl.mechanism") &&
      !IsPassedThrough(config, "sasl.mechanisms")) {
    errors.RejectMissing(
        "kafka.sasl_mechanism", "kafka.security_protocol",
        fmt::format("kafka.sasl_mechanism is missing: security_protocol \"{}\" requires one "
                    "of {}",
                    kafka.security_protocol,
                    fmt::join(FindOption("kafka.sasl_mechanism")->choices, ", ")));
  }
  const bool has_password =
      kafka.sasl_mechanism == "PLAIN" || kafka.sasl_mechanism.starts_with("SCRAM-");
  if (has_password && kafka.sasl_username.empty() && !IsPassedThrough(config, "sasl.username")) {
    errors.RejectMissing(
        "kafka.sasl_username", "kafka.sasl_mechanism",
        fmt::format("kafka.sasl_username is missing: {} requires a user and a password",
                    kafka.sasl_mechanism));
  } else if (has_password && kafka.sasl_password.empty() && kafka.sasl_password_file.empty()) {
    errors.RejectMissing(
        "kafka.sasl_password_file", "kafka.sasl_mechanism",
        fmt::format("kafka.sasl_password_file is missing: {} requires a user and a password",
                    kafka.sasl_mechanism));
  }
}

void CheckTokens(const Config& config, ConfigErrors& errors) {
  if (const absl::Status status = ValidateKafkaLogin(config.kafka); !status.ok()) {
    errors.Add("kafka.sasl_mechanism", status);
  }
}

void CheckKafka(const Config& config, ConfigNeeds needs, ConfigErrors& errors) {
  CheckBrokers(config, needs, errors);
  CheckTopics(config, errors);
  CheckProgressTopic(config, errors);
  if (needs.kafka) {
    CheckLogin(config, errors);
  }
  CheckTokens(config, errors);
}

}  // namespace

const Section kKafkaSection = {kKafkaRows, CheckKafka};

}  // namespace walrelay

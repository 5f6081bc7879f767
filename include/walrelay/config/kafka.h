// [kafka]: the brokers, the login, and the topics.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

// Who creates a missing topic before its first record.
// kNever: brokers that create topics on demand. kCheck: an operator; publishing is blocked until
// the topic exists (WR-4004). kCreate: walrelay. With kCheck and kCreate no broker creates a topic.
enum class CreateTopics : uint8_t { kNever, kCheck, kCreate };

// The settings of topics that walrelay creates.
// -1: the brokers' default. The names in `config` are unique; the brokers validate them.
struct TopicRule {
  std::string match;  // a glob over topic names, not empty
  int64_t partitions = -1;
  int64_t replication_factor = -1;
  std::vector<std::pair<std::string, std::string>> config;

  bool operator==(const TopicRule&) const = default;
};

// The first rule that matches applies; without one, the brokers' defaults.
struct TopicsConfig {
  CreateTopics create = CreateTopics::kNever;
  std::vector<TopicRule> rules;

  bool operator==(const TopicsConfig&) const = default;
};

// Where OAUTHBEARER tokens come from: exactly one of token_file, token_command and token_endpoint.
struct OauthConfig {
  std::string token_file;                  // read again every two seconds
  std::vector<std::string> token_command;  // program and arguments; prints a token
  std::string token_endpoint;              // URL, for OIDC client credentials
  std::string token_endpoint_ca_file;      // PEM; "": the system's authorities
  std::string client_id;
  Secret client_secret;
  std::string client_secret_file;  // read again for each token; takes precedence
  std::string scope;
  // SASL extensions, "name=value". Names are letters; "auth" is reserved.
  std::vector<std::string> extensions;
  // The assumed lifetime of a token that does not state when it expires.
  Micros token_lifetime = std::chrono::minutes(5);
  // The limit of one run of the command, or of one request; at least one second.
  Micros timeout = std::chrono::seconds(30);

  bool operator==(const OauthConfig&) const = default;
};

// The login of AWS_MSK_IAM. Empty: found as documented in docs/guides/kafka-logins.md.
struct AwsConfig {
  std::string region;
  std::string role_arn;  // assumed with the credentials that are found; "": none
  std::string role_session_name = "walrelay";

  bool operator==(const AwsConfig&) const = default;
};

// The brokers, the login, and the limits of a batch.
// Texts are passed to librdkafka, which validates them (WR-4006). Files take precedence over the
// secrets themselves. `security_protocol` is one of librdkafka's four.
struct KafkaConfig {
  std::string bootstrap_servers;
  std::string client_id = "walrelay";
  std::string security_protocol = "PLAINTEXT";
  std::string sasl_mechanism;
  std::string sasl_username;
  Secret sasl_password;
  std::string sasl_password_file;
  OauthConfig oauth;  // of OAUTHBEARER
  AwsConfig aws;      // of AWS_MSK_IAM
  std::string ssl_ca_file;
  std::string ssl_certificate_file;
  std::string ssl_key_file;
  Secret ssl_key_password;
  std::string ssl_key_password_file;
  std::string compression = "none";
  // Key, value and overhead of one record, as librdkafka's message.max.bytes: 1,000 to
  // 1,000,000,000.
  int64_t max_record_bytes = 1'000'000;
  // librdkafka's batch.size, 1,000 to 2^31 - 1; lowered at run time when a broker rejects a batch
  // (WR-4009).
  int64_t max_batch_bytes = 1'000'000;
  bool allow_insecure = false;
  std::vector<std::pair<std::string, std::string>>
      librdkafka;  // other properties, by librdkafka's names
  TopicsConfig topics;
  std::string progress_topic;  // "": "walrelay.progress.<pipeline.id>"
  // librdkafka's transaction.timeout.ms: brokers abort a transaction that is open for longer. At
  // least ten seconds; brokers limit it (transaction.max.timeout.ms).
  Micros transaction_timeout = std::chrono::seconds(30);

  bool operator==(const KafkaConfig&) const = default;
};

}  // namespace walrelay

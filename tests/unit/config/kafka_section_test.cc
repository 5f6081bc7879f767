#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using KafkaSectionTest = ConfigValidation;

TEST_F(KafkaSectionTest, BrokersAreHostsAndPorts) {
  for (const char* good : {"k", "k:1", "k:65535", " a:1 , b:2 ", "[::1]:9092", "[::1]",
                           "ssl://k:9092", "SASL_SSL://k:9092,PLAINTEXT://l:1"}) {
    config_.kafka.bootstrap_servers = good;
    ExpectValid();
  }
  for (const char* bad : {"http://k:9092", "k:", "k:0", "k:65536", "k:kafka", "a,,b", ":9092", " ",
                          "[::1]:", "ssl://", "k:9092/path"}) {
    config_.kafka.bootstrap_servers = bad;
    ExpectWrong("kafka.bootstrap_servers: expected host:port,host:port, got");
  }
}

TEST_F(KafkaSectionTest, SaslRequiresAMechanismAndItsLogin) {
  config_.kafka.security_protocol = "SASL_SSL";
  ExpectWrong("kafka.sasl_mechanism is missing");
  config_.kafka.sasl_mechanism = "GSSAPI";
  ExpectValid();
  config_.kafka.sasl_mechanism = "SCRAM-SHA-512";
  ExpectWrong("kafka.sasl_username is missing");
  config_.kafka.sasl_username = "u";
  ExpectWrong("kafka.sasl_password_file is missing");
  config_.kafka.sasl_password_file = "/run/secrets/kafka";
  ExpectValid();
  config_.kafka.sasl_mechanism.clear();
  config_.kafka.librdkafka = {{"sasl.mechanisms", "GSSAPI"}};
  ExpectValid();
}

// Out-of-range values would reach librdkafka, and its error would name its own properties.
TEST_F(KafkaSectionTest, RecordAndBatchSizesHaveLimits) {
  config_.kafka.max_record_bytes = 1'000'000'000;
  config_.kafka.max_batch_bytes = 2'147'483'647;
  ExpectValid();
  for (const int64_t wrong : {int64_t{999}, int64_t{1'000'000'001}, int64_t{10} << 30}) {
    config_.kafka.max_record_bytes = wrong;
    ExpectWrong("kafka.max_record_bytes");
  }
  config_.kafka.max_record_bytes = 1'000'000;
  for (const int64_t wrong : {int64_t{999}, int64_t{10} << 30}) {
    config_.kafka.max_batch_bytes = wrong;
    ExpectWrong("kafka.max_batch_bytes");
  }
}

TEST_F(KafkaSectionTest, CheckedTopicsExcludeCreationOnDemand) {
  config_.kafka.librdkafka = {{"allow.auto.create.topics", "true"}};
  ExpectValid();
  config_.kafka.topics.create = CreateTopics::kCheck;
  ExpectWrong("kafka.topics.create \"check\" excludes");
  config_.kafka.librdkafka = {{"allow.auto.create.topics", "false"}};
  ExpectValid();
}

TEST_F(KafkaSectionTest, ProgressTopicHasTheNameOfATopic) {
  config_.kafka.progress_topic = "progress.of-orders_1";
  ExpectValid();
  config_.kafka.progress_topic = "progress of orders";
  ExpectWrong("kafka.progress_topic: expected the name of a topic");
}

TEST_F(KafkaSectionTest, TransactionTimeoutHasLimits) {
  for (const Micros valid : {Micros(10s), Micros(1h)}) {
    config_.kafka.transaction_timeout = valid;
    ExpectValid();
  }
  for (const Micros wrong : {10s - Micros(1), 1h + Micros(1)}) {
    config_.kafka.transaction_timeout = wrong;
    ExpectWrong("kafka.transaction_timeout: expected between \"10s\" and \"1h\"");
  }
}

}  // namespace
}  // namespace walrelay

#include "sinks/kafka/client/conf.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "sinks/kafka/client/conf_property.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class KafkaConfTest : public ::testing::Test {
 protected:
  KafkaConfTest() { kafka_.bootstrap_servers = "127.0.0.1:9092"; }

  absl::StatusOr<KafkaConf> Make() const { return MakeProducerConf(kafka_, pipeline_, 1'000'000); }
  // The value of a property of the producer; "" when the configuration is refused.
  std::string Get(const char* name) const {
    const auto conf = Make();
    EXPECT_THAT(conf, IsOk());
    return conf.ok() ? Get(**conf, name) : "";
  }
  static std::string Get(const rd_kafka_conf_t& conf, const char* name) {
    char value[512] = "";
    size_t size = sizeof(value);
    EXPECT_EQ(rd_kafka_conf_get(&conf, name, value, &size), RD_KAFKA_CONF_OK) << name;
    return value;
  }
  void PassThrough(const std::string& name, const std::string& value) {
    kafka_.librdkafka = {{name, value}};
  }
  void ExpectRefused(const std::string& name, const std::string& value, const std::string& part) {
    PassThrough(name, value);
    EXPECT_THAT(Make(), HasError(ErrorCode::kKafkaConfiguration, part)) << name << "=" << value;
  }

  KafkaConfig kafka_;
  PipelineConfig pipeline_;
  testing::TemporaryDirectory directory_;
};

TEST_F(KafkaConfTest, GuaranteesAreSet) {
  EXPECT_EQ(Get("enable.idempotence"), "true");
  EXPECT_EQ(Get("enable.gapless.guarantee"), "true");
  EXPECT_EQ(Get("request.required.acks"), "-1");
  EXPECT_EQ(Get("message.timeout.ms"), "0");
  EXPECT_EQ(Get("partitioner"), "murmur2_random");
  EXPECT_EQ(Get("queuing.strategy"), "fifo");
  EXPECT_EQ(Get("delivery.report.only.error"), "false");
}

TEST_F(KafkaConfTest, PropertiesOfTheGuaranteesCannotBeSetUnderAnyName) {
  const std::pair<const char*, const char*> kOurs[] = {
      {"enable.idempotence", "false"},
      {"acks", "1"},
      {"request.required.acks", "1"},
      {"enable.gapless.guarantee", "false"},
      {"message.timeout.ms", "1000"},
      {"delivery.timeout.ms", "1000"},
      {"partitioner", "random"},
      {"max.in.flight", "1000"},
      {"max.in.flight.requests.per.connection", "1000"},
      {"retries", "0"},
      {"message.send.max.retries", "0"},
      {"queuing.strategy", "lifo"},
      {"delivery.report.only.error", "true"},
      {"transactional.id", "t"},
      {"transaction.timeout.ms", "1000"},
      {"enabled_events", "0"},
      {"plugin.library.paths", "x"}};
  for (const auto& [name, value] : kOurs) {
    ExpectRefused(name, value, "is set by walrelay itself");
  }
}

// librdkafka also accepts topic properties with this prefix.
TEST_F(KafkaConfTest, PrefixOfTopicPropertiesDoesNotBypassTheCheck) {
  for (const char* name : {"topic.acks", "topic.message.timeout.ms", "topic.queuing.strategy",
                           "topic.delivery.timeout.ms", "topic.partitioner"}) {
    ExpectRefused(name, "1", "is set by walrelay itself");
  }
}

TEST_F(KafkaConfTest, PropertiesWithTheirOwnOptionAreRefused) {
  for (const char* name : {"bootstrap.servers", "metadata.broker.list", "sasl.password",
                           "ssl.key.password", "message.max.bytes", "batch.size"}) {
    ExpectRefused(name, "1000", "is set by walrelay itself");
  }
}

// It would bypass the transport check.
TEST_F(KafkaConfTest, SecurityProtocolIsRefused) {
  ExpectRefused("security.protocol", "plaintext", "is set by walrelay itself");
}

// A producer with mock brokers in its own process would acknowledge everything.
TEST_F(KafkaConfTest, MockBrokersCannotBeEnabled) {
  ExpectRefused("test.mock.num.brokers", "3", "is set by walrelay itself");
}

TEST_F(KafkaConfTest, OtherPropertiesPassThrough) {
  PassThrough("linger.ms", "7");
  EXPECT_EQ(Get("queue.buffering.max.ms"), "7");
  PassThrough("client.rack", "eu-1a");
  EXPECT_EQ(Get("client.rack"), "eu-1a");
}

TEST_F(KafkaConfTest, BrokersCreateNoTopicsThatAreCheckedOrCreated) {
  PassThrough("allow.auto.create.topics", "true");
  EXPECT_EQ(Get("allow.auto.create.topics"), "true");
  for (const CreateTopics create : {CreateTopics::kCheck, CreateTopics::kCreate}) {
    kafka_.topics.create = create;
    EXPECT_EQ(Get("allow.auto.create.topics"), "false");
  }
}

TEST_F(KafkaConfTest, PassThroughIsCheckedByLibrdkafka) {
  ExpectRefused("no.such.property", "1", "no.such.property");
  ExpectRefused("linger.ms", "soon", "[kafka.librdkafka] linger.ms: ");
  ExpectRefused("a\nb", "1", "a\\x0ab");
}

TEST_F(KafkaConfTest, DebugContextsThatPrintSecretsAreRefused) {
  for (const char* contexts : {"all", "security", "conf", "broker,security", "topic, conf"}) {
    ExpectRefused("debug", contexts, "secrets");
  }
  PassThrough("debug", "broker,topic");
  EXPECT_THAT(Make(), IsOk());
}

TEST_F(KafkaConfTest, LimitsComeFromTheConfiguration) {
  kafka_.max_record_bytes = 5'000'000;
  kafka_.client_id = "relay-7";
  kafka_.compression = "lz4";
  EXPECT_EQ(Get("message.max.bytes"), "5000000");
  EXPECT_EQ(Get("client.id"), "relay-7");
  EXPECT_EQ(Get("compression.codec"), "lz4");
}

TEST_F(KafkaConfTest, BatchSizeIsTheRequestedSize) {
  const auto conf = MakeProducerConf(kafka_, pipeline_, 12'345);
  ASSERT_THAT(conf, IsOk());
  EXPECT_EQ(Get(**conf, "batch.size"), "12345");
}

// The relay's window must be the effective limit: a smaller queue would block publishing first.
TEST_F(KafkaConfTest, QueueIsLargerThanTheWindow) {
  pipeline_.max_in_flight_records = 50'000;
  EXPECT_GT(std::stoi(Get("queue.buffering.max.messages")), 50'000);
  pipeline_.max_in_flight_records = 1;
  EXPECT_GT(std::stoi(Get("queue.buffering.max.messages")), 1);
}

TEST_F(KafkaConfTest, LoginIsPassedToLibrdkafka) {
  kafka_.security_protocol = "SASL_PLAINTEXT";
  kafka_.sasl_mechanism = "SCRAM-SHA-512";
  kafka_.sasl_username = "relay";
  kafka_.sasl_password = Secret("s3cret");
  EXPECT_EQ(Get("security.protocol"), "sasl_plaintext");
  EXPECT_EQ(Get("sasl.mechanisms"), "SCRAM-SHA-512");
  EXPECT_EQ(Get("sasl.username"), "relay");
  EXPECT_EQ(Get("sasl.password"), "s3cret");
}

TEST_F(KafkaConfTest, SecretFileIsReadEachTime) {
  kafka_.sasl_password_file = directory_.Write("password", "first\n");
  EXPECT_EQ(Get("sasl.password"), "first");
  directory_.Write("password", "second\n");
  EXPECT_EQ(Get("sasl.password"), "second");
}

TEST_F(KafkaConfTest, SecretFileMustBeUsable) {
  kafka_.sasl_password_file = directory_.File("missing");
  EXPECT_THAT(Make(), HasError(ErrorCode::kSecretFile, "missing"));
  kafka_.sasl_password_file = directory_.Write("open", "s3cret", 0644);
  EXPECT_THAT(Make(), HasError(ErrorCode::kSecretFile, "open"));
  kafka_.sasl_password_file.clear();
  kafka_.ssl_key_password_file = directory_.File("missing");
  EXPECT_THAT(Make(), HasError(ErrorCode::kSecretFile, "missing"));
}

TEST_F(KafkaConfTest, TlsSettingsArePassedToLibrdkafka) {
  kafka_.security_protocol = "SSL";
  kafka_.ssl_ca_file = "/ca.pem";
  kafka_.ssl_certificate_file = "/certificate.pem";
  kafka_.ssl_key_file = "/key.pem";
  kafka_.ssl_key_password = Secret("s3cret");
  EXPECT_EQ(Get("ssl.ca.location"), "/ca.pem");
  EXPECT_EQ(Get("ssl.certificate.location"), "/certificate.pem");
  EXPECT_EQ(Get("ssl.key.location"), "/key.pem");
  EXPECT_EQ(Get("ssl.key.password"), "s3cret");
  EXPECT_EQ(Get("enable.ssl.certificate.verification"), "true");
  EXPECT_EQ(Get("ssl.endpoint.identification.algorithm"), "https");
}

// `check` must connect with the same settings as `run`.
TEST_F(KafkaConfTest, ConsumerConnectsAsTheProducerDoes) {
  kafka_.client_id = "relay-7";
  PassThrough("broker.address.family", "v4");
  const auto conf = MakeConsumerConf(kafka_);
  ASSERT_THAT(conf, IsOk());
  EXPECT_EQ(Get(**conf, "client.id"), "relay-7");
  EXPECT_EQ(Get(**conf, "broker.address.family"), "v4");
  EXPECT_EQ(Get(**conf, "enable.auto.commit"), "false");
  EXPECT_EQ(Get(**conf, "isolation.level"), "read_committed");
}

// --- the transport ---

class KafkaTransportTest : public ::testing::Test {
 protected:
  absl::Status Check(const std::string& servers) {
    kafka_.bootstrap_servers = servers;
    return CheckKafkaTransport(kafka_);
  }
  KafkaConfig kafka_;
};

TEST_F(KafkaTransportTest, ClearTextIsAllowedOnlyOnLoopback) {
  for (const char* local :
       {"127.0.0.1:9092", "127.8.9.1:1", "localhost:9092", "localhost", "[::1]:9092",
        "PLAINTEXT://localhost:9092", "127.0.0.1:1,[::1]:2", "127.0.0.1:1, localhost:2"}) {
    EXPECT_THAT(Check(local), IsOk()) << local;
  }
  for (const char* remote :
       {"kafka:9092", "10.0.0.1:9092", "localhost.example.com:9092", "127.example.com:9092",
        "[::2]:9092", "[::1].example.com:9092", "PLAINTEXT://kafka:9092",
        "127.0.0.1:9092,kafka:9092", "kafka:9092,127.0.0.1:9092", "127.0.0.1:9092, kafka:9092"}) {
    EXPECT_THAT(Check(remote), HasError(ErrorCode::kInsecureTransport)) << remote;
  }
}

TEST_F(KafkaTransportTest, PasswordsDoNotCrossTheNetworkInClearText) {
  kafka_.security_protocol = "SASL_PLAINTEXT";
  EXPECT_THAT(Check("kafka:9092"), HasError(ErrorCode::kInsecureTransport, "SASL_PLAINTEXT"));
}

TEST_F(KafkaTransportTest, TlsIsAllowedEverywhere) {
  for (const char* protocol : {"SSL", "SASL_SSL"}) {
    kafka_.security_protocol = protocol;
    EXPECT_THAT(Check("kafka:9092"), IsOk());
  }
}

TEST_F(KafkaTransportTest, TlsWithoutVerificationIsInsecure) {
  kafka_.security_protocol = "SASL_SSL";
  const std::pair<std::string, std::string> kWeak[] = {
      {"enable.ssl.certificate.verification", "false"},
      {"ssl.endpoint.identification.algorithm", "none"}};
  for (const auto& property : kWeak) {
    kafka_.librdkafka = {property};
    EXPECT_THAT(Check("kafka:9092"), HasError(ErrorCode::kInsecureTransport, property.first));
    EXPECT_THAT(Check("127.0.0.1:9092"), IsOk());
  }
}

TEST_F(KafkaTransportTest, AllowInsecureDisablesTheCheck) {
  kafka_.allow_insecure = true;
  EXPECT_THAT(Check("kafka:9092"), IsOk());
}

TEST_F(KafkaConfTest, SourcesOfTokensOfLibrdkafkaAreUnsupported) {
  for (const char* name : {"sasl.oauthbearer.method", "sasl.oauthbearer.client.secret",
                           "enable.sasl.oauthbearer.unsecure.jwt"}) {
    kafka_.librdkafka = {{name, "oidc"}};
    EXPECT_THAT(Make(), HasError(ErrorCode::kKafkaLoginUnsupported)) << name;
  }
}

TEST_F(KafkaConfTest, TokenEndpointOnAnotherHostNeedsTls) {
  kafka_.bootstrap_servers = "127.0.0.1:1";
  for (const char* url : {"https://id.example.com/token", "http://localhost:80/token",
                          "http://[::1]:80/token", "http://127.0.0.1/token"}) {
    kafka_.oauth.token_endpoint = url;
    EXPECT_THAT(CheckKafkaTransport(kafka_), IsOk()) << url;
  }
  for (const char* url : {"http://127.0.0.1:80@evil.example.com/token", "https://u:p@id/token",
                          "http://localhost@evil.example.com",
                          "http://127.0.0.1\\@evil.example.com/", "ftp://127.0.0.1/token"}) {
    kafka_.oauth.token_endpoint = url;
    EXPECT_THAT(CheckKafkaTransport(kafka_),
                HasError(ErrorCode::kConfigValue, "without user and password"))
        << url;
  }
  kafka_.oauth.token_endpoint = "http://127.0.0.1.example.com/token";
  EXPECT_THAT(CheckKafkaTransport(kafka_), HasError(ErrorCode::kInsecureTransport));
  kafka_.oauth.token_endpoint = "http://id.example.com/token";
  EXPECT_THAT(CheckKafkaTransport(kafka_), HasError(ErrorCode::kInsecureTransport));
  kafka_.allow_insecure = true;
  EXPECT_THAT(CheckKafkaTransport(kafka_), IsOk());
}

TEST_F(KafkaConfTest, ProducerIsCheckedWithoutBrokers) {
  EXPECT_THAT(CheckProducer(kafka_, pipeline_), IsOk());
  kafka_.security_protocol = "SASL_PLAINTEXT";
  kafka_.sasl_mechanism = "PLAIN";
  EXPECT_THAT(CheckProducer(kafka_, pipeline_), HasError(ErrorCode::kKafkaConfiguration));
  kafka_.sasl_username = "relay";
  kafka_.sasl_password = Secret("s3cret");
  EXPECT_THAT(CheckProducer(kafka_, pipeline_), IsOk());
  kafka_.security_protocol = "SSL";
  kafka_.ssl_ca_file = directory_.Write("ca.pem", "no certificate");
  EXPECT_THAT(CheckProducer(kafka_, pipeline_), HasError(ErrorCode::kKafkaConfiguration));
}

TEST_F(KafkaConfTest, AProducerWithTransactions) {
  kafka_.transaction_timeout = std::chrono::seconds(12);
  const auto conf = MakeProducerConf(kafka_, pipeline_, 1'000'000, "walrelay.test");
  ASSERT_THAT(conf, IsOk());
  EXPECT_EQ(ConfValue(**conf, "transactional.id"), "walrelay.test");
  EXPECT_EQ(ConfValue(**conf, "transaction.timeout.ms"), "12000");
  EXPECT_EQ(ConfValue(**conf, "socket.timeout.ms"), "12000");
  EXPECT_EQ(ConfValue(**conf, "message.timeout.ms"), "0");
  EXPECT_EQ(ConfValue(**conf, "enable.idempotence"), "true");
  EXPECT_EQ(ConfValue(**conf, "isolation.level"), "read_uncommitted");
}

TEST_F(KafkaConfTest, AShorterSocketTimeoutIsKept) {
  kafka_.librdkafka = {{"socket.timeout.ms", "5000"}};
  const auto conf = MakeProducerConf(kafka_, pipeline_, 1'000'000, "walrelay.test");
  ASSERT_THAT(conf, IsOk());
  EXPECT_EQ(ConfValue(**conf, "socket.timeout.ms"), "5000");
}

// Without the login, which would run kinit.
TEST_F(KafkaConfTest, CertificatesAreCheckedWithGssapiToo) {
  kafka_.security_protocol = "SASL_SSL";
  kafka_.sasl_mechanism = "GSSAPI";
  EXPECT_THAT(CheckProducer(kafka_, {}), IsOk());
  kafka_.ssl_ca_file = directory_.File("missing");
  EXPECT_THAT(CheckProducer(kafka_, {}), HasError(ErrorCode::kKafkaConfiguration));
}

TEST_F(KafkaConfTest, AProducerWithTransactionsIsChecked) {
  pipeline_.mode = PipelineMode::kExactlyOnce;
  EXPECT_THAT(CheckProducer(kafka_, pipeline_), IsOk());
}

}  // namespace
}  // namespace walrelay

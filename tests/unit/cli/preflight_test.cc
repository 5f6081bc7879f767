#include "cli/preflight.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class PreflightTest : public ::testing::Test {
 protected:
  PreflightTest() {
    config_.source.dsn = "host=127.0.0.1 dbname=shop user=u";
    config_.kafka.bootstrap_servers = "127.0.0.1:9092";
  }
  // Exactly one error, in the value of this option.
  void Expect(const std::string& option, ErrorCode code, const std::string& part) const {
    const auto errors = CheckOffline(config_);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].option, option);
    EXPECT_THAT(errors[0].error, HasError(code, part));
  }

  Config config_;
  testing::TemporaryDirectory directory_;
};

TEST_F(PreflightTest, ValidConfigurationPasses) {
  EXPECT_TRUE(CheckOffline(config_).empty());
}

TEST_F(PreflightTest, ConnectionStringMustBeValid) {
  config_.source.dsn = "host=127.0.0.1 hosts=b";
  Expect("source.dsn", ErrorCode::kConfigValue, "");
}

TEST_F(PreflightTest, UnprotectedPostgresConnectionIsRejected) {
  config_.source.dsn = "host=db sslmode=require";
  Expect("source.dsn", ErrorCode::kInsecureTransport, "[source]");
}

TEST_F(PreflightTest, SecretFilesMustExist) {
  config_.source.password_file = directory_.File("missing");
  Expect("source.password_file", ErrorCode::kSecretFile, "missing");
  config_.source.password_file.clear();
  config_.kafka.sasl_password_file = directory_.File("absent");
  Expect("kafka.sasl_password_file", ErrorCode::kSecretFile, "absent");
}

TEST_F(PreflightTest, UnprotectedKafkaConnectionIsRejected) {
  config_.kafka.bootstrap_servers = "kafka:9092";
  Expect("kafka.bootstrap_servers", ErrorCode::kInsecureTransport, "[kafka]");
}

TEST_F(PreflightTest, LibrdkafkaPropertiesMustExist) {
  config_.kafka.librdkafka = {{"no.such.property", "1"}};
  Expect("kafka.librdkafka.no.such.property", ErrorCode::kKafkaConfiguration, "no.such.property");
}

TEST_F(PreflightTest, NamedFilesMustExist) {
  const std::string missing = directory_.File("missing.pem");
  for (const char* parameter : {"sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir"}) {
    config_.source.dsn = fmt::format("host=127.0.0.1 {}={}", parameter, missing);
    Expect("source.dsn", ErrorCode::kNamedFile, fmt::format("{} of source.dsn", parameter));
  }
  config_.source.dsn = "host=127.0.0.1 sslrootcert=system";
  EXPECT_TRUE(CheckOffline(config_).empty()) << "a keyword of libpq";
  config_.kafka.ssl_ca_file = missing;
  Expect("kafka.ssl_ca_file", ErrorCode::kNamedFile, missing);
  config_.kafka.ssl_ca_file.clear();
  config_.kafka.librdkafka = {{"ssl.crl.location", missing}};
  Expect("kafka.librdkafka.ssl.crl.location", ErrorCode::kNamedFile, missing);
}

TEST_F(PreflightTest, CertificatesAreLoaded) {
  config_.kafka.security_protocol = "SSL";
  config_.kafka.ssl_ca_file = directory_.Write("ca.pem", "not a certificate");
  Expect("kafka.ssl_ca_file", ErrorCode::kKafkaConfiguration, "ssl.ca.location");
}

TEST_F(PreflightTest, AllErrorsAreReported) {
  config_.source.password_file = directory_.File("missing");
  config_.kafka.ssl_ca_file = directory_.File("missing");
  config_.http.listen = "9464";
  config_.route.topic = "a b";
  config_.kafka.librdkafka = {{"acks", "1"}, {"linger.mss", "1"}};
  EXPECT_EQ(CheckOffline(config_).size(), 6u);
}

TEST_F(PreflightTest, OnlyTheServersOfTheCommandAreChecked) {
  config_.source.dsn = "host=db sslmode=disable";
  config_.kafka.bootstrap_servers = "kafka:9092";
  EXPECT_EQ(CheckOffline(config_, {.postgres = false, .kafka = false}).size(), 0u);
  EXPECT_EQ(CheckOffline(config_, {.postgres = true, .kafka = false}).size(), 1u);
  EXPECT_EQ(CheckOffline(config_, {.postgres = false, .kafka = true}).size(), 1u);
}

TEST_F(PreflightTest, HttpAddressMustBeValid) {
  config_.http.listen = "9464";
  Expect("http.listen", ErrorCode::kHttpListen, "did you mean \"127.0.0.1:9464\"?");
  config_.http.listen = "0.0.0.0:99999";
  Expect("http.listen", ErrorCode::kHttpListen, "expected \"address:port\"");
  config_.http.listen = "";
  EXPECT_TRUE(CheckOffline(config_).empty());
}

TEST_F(PreflightTest, DeadLetterTopicMustBeAValidName) {
  config_.on_error.dead_letter_topic = "dead letters";
  Expect("on_error.dead_letter_topic", ErrorCode::kConfigValue, "dead letters");
}

TEST_F(PreflightTest, RouteMustBeValid) {
  config_.route.regex = "(?=look)ahead";
  Expect("route.regex", ErrorCode::kConfigValue, "route.regex");
  config_.route = RouteConfig();
  config_.route.topic = "${nowhere}";
  Expect("route.topic", ErrorCode::kConfigValue, "route.topic");
  config_.route.topic = "ev ${routedByValue}";
  Expect("route.topic", ErrorCode::kConfigValue, "\"ev \" has characters other than");
  config_.route.topic = "";
  Expect("route.topic", ErrorCode::kConfigValue, "route.topic is empty");
}

}  // namespace
}  // namespace walrelay

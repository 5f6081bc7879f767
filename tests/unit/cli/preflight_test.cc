#include "cli/preflight.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

class PreflightTest : public ::testing::Test {
 protected:
  PreflightTest() {
    config_.source.dsn = "host=127.0.0.1 dbname=shop user=u";
    config_.kafka.bootstrap_servers = "127.0.0.1:9092";
  }
  void Expect(ErrorCode code, const std::string& part) const {
    EXPECT_THAT(CheckOffline(config_), HasError(code, part));
  }

  Config config_;
  testing::TemporaryDirectory directory_;
};

TEST_F(PreflightTest, ValidConfigurationPasses) {
  EXPECT_THAT(CheckOffline(config_), IsOk());
}

TEST_F(PreflightTest, ConnectionStringMustBeValid) {
  config_.source.dsn = "host 127.0.0.1";
  Expect(ErrorCode::kConfigValue, "");
}

TEST_F(PreflightTest, UnprotectedPostgresConnectionIsRejected) {
  config_.source.dsn = "host=db sslmode=require";
  Expect(ErrorCode::kInsecureTransport, "[source]");
}

TEST_F(PreflightTest, SecretFilesMustExist) {
  config_.source.password_file = directory_.File("missing");
  Expect(ErrorCode::kSecretFile, "missing");
  config_.source.password_file.clear();
  config_.kafka.sasl_password_file = directory_.File("absent");
  Expect(ErrorCode::kSecretFile, "absent");
}

TEST_F(PreflightTest, UnprotectedKafkaConnectionIsRejected) {
  config_.kafka.bootstrap_servers = "kafka:9092";
  Expect(ErrorCode::kInsecureTransport, "[kafka]");
}

TEST_F(PreflightTest, LibrdkafkaPropertiesMustExist) {
  config_.kafka.librdkafka = {{"no.such.property", "1"}};
  Expect(ErrorCode::kKafkaConfiguration, "no.such.property");
}

TEST_F(PreflightTest, DeadLetterTopicMustBeAValidName) {
  config_.on_error.dead_letter_topic = "dead letters";
  Expect(ErrorCode::kTopicInvalid, "on_error.dead_letter_topic");
}

TEST_F(PreflightTest, RouteMustBeValid) {
  config_.route.regex = "(?=look)ahead";
  Expect(ErrorCode::kConfigValue, "route.regex");
  config_.route = RouteConfig();
  config_.route.topic = "${nowhere}";
  Expect(ErrorCode::kConfigValue, "route.topic");
}

}  // namespace
}  // namespace walrelay

#include "config/kafka_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

class KafkaLoginTest : public ::testing::Test {
 protected:
  KafkaLoginTest() {
    kafka_.security_protocol = "SASL_SSL";
    kafka_.sasl_mechanism = "OAUTHBEARER";
  }
  void ExpectRejected(const std::string& reason) const {
    const absl::Status status = ValidateKafkaLogin(kafka_);
    EXPECT_THAT(status, HasError(ErrorCode::kConfigValue));
    EXPECT_THAT(MessageOf(status), HasSubstr(reason));
  }

  KafkaConfig kafka_;
};

TEST_F(KafkaLoginTest, EachSourceOfTokensIsSufficient) {
  kafka_.oauth = {.token_file = "/token"};
  EXPECT_THAT(ValidateKafkaLogin(kafka_), IsOk());
  kafka_.oauth = {.token_command = {"print-token"}};
  EXPECT_THAT(ValidateKafkaLogin(kafka_), IsOk());
  kafka_.oauth = {
      .token_endpoint = "https://id/token", .client_id = "relay", .client_secret_file = "/secret"};
  EXPECT_THAT(ValidateKafkaLogin(kafka_), IsOk());
  kafka_ = KafkaConfig{.security_protocol = "SASL_SSL", .sasl_mechanism = "AWS_MSK_IAM"};
  EXPECT_THAT(ValidateKafkaLogin(kafka_), IsOk());
}

TEST_F(KafkaLoginTest, NoSourceAndSeveralSourcesAreRejected) {
  ExpectRejected(
      "exactly one of token_file, token_command and token_endpoint in [kafka.oauth], got 0");
  kafka_.oauth = {.token_file = "/token", .token_command = {"print-token"}};
  ExpectRejected("got 2");
}

TEST_F(KafkaLoginTest, KeyWithoutItsSourceIsRejected) {
  kafka_.oauth = {.token_file = "/token", .scope = "write"};
  ExpectRejected("kafka.oauth.scope requires token_endpoint");
  kafka_.oauth = {.token_endpoint = "https://id/token", .client_id = "relay"};
  ExpectRejected("requires client_id and client_secret_file");
  kafka_.oauth.token_endpoint = "id/token";
  ExpectRejected("expected an https URL");
  kafka_.oauth = {.token_command = {""}};
  ExpectRejected("expected a program");
}

TEST_F(KafkaLoginTest, KeysOfAnotherMechanismAreRejected) {
  kafka_.oauth = {.token_file = "/token"};
  kafka_.aws.region = "eu-west-1";
  ExpectRejected("[kafka.aws] requires");
  kafka_.aws = AwsConfig();
  kafka_.sasl_mechanism = "PLAIN";
  ExpectRejected("[kafka.oauth] requires");
}

TEST_F(KafkaLoginTest, ProtocolWithoutSaslIsRejected) {
  kafka_.oauth = {.token_file = "/token"};
  kafka_.security_protocol = "SSL";
  ExpectRejected("\"OAUTHBEARER\" requires kafka.security_protocol \"SASL_SSL\", got \"SSL\"");
}

TEST_F(KafkaLoginTest, ExtensionsAreNamesAndValues) {
  kafka_.oauth = {.token_file = "/token", .extensions = {"logicalCluster=lkc-1", "a=", "b=c=d"}};
  EXPECT_THAT(ValidateKafkaLogin(kafka_), IsOk());
  for (const char* extension : {"name", "=value", "auth=x", "two words=x", "n1=x", "a=\x01"}) {
    kafka_.oauth.extensions = {extension};
    ExpectRejected("kafka.oauth.extensions");
  }
}

TEST_F(KafkaLoginTest, TimesHaveAMinimum) {
  kafka_.oauth = {.token_file = "/token", .token_lifetime = std::chrono::milliseconds(1)};
  ExpectRejected("token_lifetime");
  kafka_.oauth = {.token_file = "/token", .timeout = std::chrono::milliseconds(1)};
  ExpectRejected("timeout");
}

}  // namespace
}  // namespace walrelay

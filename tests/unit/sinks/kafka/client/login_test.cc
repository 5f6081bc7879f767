#include "sinks/kafka/client/login.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/status_matchers.h"
#include "sinks/kafka/client/conf_property.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class LoginTest : public ::testing::Test {
 protected:
  KafkaConfig kafka_;
  KafkaConf conf_{rd_kafka_conf_new()};
};

TEST_F(LoginTest, IamLoginIsSentAsOauthbearer) {
  kafka_.security_protocol = "SASL_SSL";
  kafka_.sasl_mechanism = "AWS_MSK_IAM";
  kafka_.aws.region = "eu-west-1";
  ASSERT_THAT(SetLogin(kafka_, conf_), IsOk());
  EXPECT_EQ(ConfValue(*conf_, "sasl.mechanisms"), "OAUTHBEARER");
  EXPECT_NE(conf_.tokens.source, nullptr);
}

TEST_F(LoginTest, ExtensionsAreSplitIntoNamesAndValues) {
  kafka_.sasl_mechanism = "OAUTHBEARER";
  kafka_.oauth = {.token_file = "/token", .extensions = {"logicalCluster=lkc-1", "b=c=d"}};
  ASSERT_THAT(SetLogin(kafka_, conf_), IsOk());
  EXPECT_EQ(conf_.tokens.extensions,
            (std::vector<std::string>{"logicalCluster", "lkc-1", "b", "c=d"}));
}

TEST_F(LoginTest, UnknownMechanismIsUnsupported) {
  for (const char* mechanism : {"NTLM", "scram-sha-512", "OAUTHBEARER2"}) {
    kafka_.sasl_mechanism = mechanism;
    EXPECT_THAT(SetLogin(kafka_, conf_), HasError(ErrorCode::kKafkaLoginUnsupported)) << mechanism;
  }
}

}  // namespace
}  // namespace walrelay

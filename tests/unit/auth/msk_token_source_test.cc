#include "auth/msk_token_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "absl/strings/escaping.h"
#include "fakes/environment_variable.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

std::string Decoded(const Secret& token) {
  std::string text;
  return absl::WebSafeBase64Unescape(token.Reveal(), &text) ? text : "";
}

using std::chrono::minutes;
using std::chrono::seconds;

// 2026-01-02T03:04:05Z
const WallTime kNow{seconds(1'767'323'045)};

class MskTokenTest : public ::testing::Test {
 protected:
  // The URL in the token, without the part that names the client.
  std::string SignedUrl() const {
    const Token token = MskToken("eu-west-1", credentials_, kNow);
    std::string url = Decoded(token.value);
    const std::string client = "&User-Agent=walrelay%2F" + std::string(Version());
    EXPECT_TRUE(url.ends_with(client)) << url;
    return url.substr(0, url.size() - client.size());
  }

  AwsCredentials credentials_{
      .access_key_id = "AKIDEXAMPLE",
      .secret_access_key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")};
};

// Made by aws-msk-iam-sasl-signer-python 1.0.2 with the same credentials and time.
TEST_F(MskTokenTest, EqualsTheTokenOfAwsSigner) {
  EXPECT_EQ(
      SignedUrl(),
      "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm="
      "AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Feu-west-1%2Fkafka-cluster%2F"
      "aws4_request&X-Amz-Date=20260102T030405Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&"
      "X-Amz-Signature=7cc178453342e479def8e0e69cbff443ca929b5b0426af0f4b64554172c7195d");
}

TEST_F(MskTokenTest, EqualsTheTokenOfAwsSignerWithASession) {
  credentials_.session_token = Secret("FwoG/tok+en==");
  EXPECT_EQ(
      SignedUrl(),
      "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm="
      "AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Feu-west-1%2Fkafka-cluster%2F"
      "aws4_request&X-Amz-Date=20260102T030405Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host&"
      "X-Amz-Security-Token=FwoG%2Ftok%2Ben%3D%3D&"
      "X-Amz-Signature=0951c672e753a483385325d2d1d48635ce778cd306072f030d0c3e57d33143c7");
}

TEST_F(MskTokenTest, ExpiresAfterFifteenMinutesOrWithTheCredentials) {
  EXPECT_EQ(MskToken("eu-west-1", credentials_, kNow).expiry, kNow + minutes(15));
  credentials_.expiry = kNow + minutes(5);
  EXPECT_EQ(MskToken("eu-west-1", credentials_, kNow).expiry, kNow + minutes(5));
  credentials_.expiry = kNow + minutes(60);
  EXPECT_EQ(MskToken("eu-west-1", credentials_, kNow).expiry, kNow + minutes(15));
}

class MskRegionTest : public ::testing::Test {
 protected:
  MskRegionTest() {
    Set("AWS_REGION", std::nullopt);
    Set("AWS_DEFAULT_REGION", std::nullopt);
    kafka_.sasl_mechanism = "AWS_MSK_IAM";
  }
  void Set(const std::string& name, const std::optional<std::string>& value) {
    variables_.emplace_back(name, value);
  }

  KafkaConfig kafka_;

 private:
  std::deque<testing::EnvironmentVariable> variables_;
};

TEST_F(MskRegionTest, NameOfTheBrokerContainsIt) {
  for (const auto& [servers, region] :
       {std::pair("b-1.shop.a1b2c3.c2.kafka.eu-central-1.amazonaws.com:9098,b-2:9098",
                  "eu-central-1"),
        std::pair("boot-x.c1.kafka-serverless.us-east-1.amazonaws.com:9098", "us-east-1"),
        std::pair("b-1.shop.c2.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        std::pair("my.kafka.internal:9098", ""), std::pair("10.0.0.1:9098", "")}) {
    kafka_.bootstrap_servers = servers;
    EXPECT_EQ(MskRegion(kafka_), region) << servers;
  }
}

TEST_F(MskRegionTest, ConfigurationOverridesTheBrokerAndTheBrokerTheEnvironment) {
  Set("AWS_DEFAULT_REGION", "default");
  EXPECT_EQ(MskRegion(kafka_), "default");
  Set("AWS_REGION", "environment");
  EXPECT_EQ(MskRegion(kafka_), "environment");
  kafka_.bootstrap_servers = "b-1.shop.c2.kafka.eu-central-1.amazonaws.com:9098";
  EXPECT_EQ(MskRegion(kafka_), "eu-central-1");
  kafka_.aws.region = "configured";
  EXPECT_EQ(MskRegion(kafka_), "configured");
}

TEST_F(MskRegionTest, UnknownRegionIsAnError) {
  EXPECT_THAT(MskTokenSource::Create(kafka_), HasError(ErrorCode::kConfigValue));
}

TEST_F(MskRegionTest, TokenIsMadeOfTheCredentialsOfTheEnvironment) {
  Set("AWS_ACCESS_KEY_ID", "AKIDENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  kafka_.aws.region = "eu-west-1";
  const auto source = MskTokenSource::Create(kafka_);
  ASSERT_THAT(source, IsOk());
  const auto token = (*source)->Fetch(-1);
  ASSERT_THAT(token, IsOk());
  EXPECT_THAT(Decoded(token->value), ::testing::HasSubstr("X-Amz-Credential=AKIDENV%2F"));
}

}  // namespace
}  // namespace walrelay

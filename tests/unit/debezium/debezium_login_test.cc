#include "debezium/debezium_login.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class DebeziumLoginTest : public ::testing::Test {
 protected:
  std::optional<PropertyResult> Login(std::string_view jaas) {
    const auto login = ParseJaasConfig(jaas);
    EXPECT_THAT(login, IsOk());
    return TranslateTokenLogin(*login, out_);
  }
  std::optional<PropertyResult> Property(std::string_view name, const std::string& value) {
    return TranslateTokenProperty(name, {.name = std::string(name), .value = value}, out_);
  }

  DebeziumTranslation out_;
};

TEST_F(DebeziumLoginTest, IamLoginKeepsItsRole) {
  const auto result = Login(
      "software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn=\"arn:role\" "
      "awsRoleSessionName=\"outbox\";");
  EXPECT_EQ(result->outcome, PropertyOutcome::kTranslated);
  EXPECT_THAT(out_.settings, UnorderedElementsAre(Pair("kafka.aws.role_arn", "arn:role"),
                                                  Pair("kafka.aws.role_session_name", "outbox")));
}

TEST_F(DebeziumLoginTest, IamLoginWithoutOptionsNeedsNoSetting) {
  EXPECT_EQ(Login("software.amazon.msk.auth.iam.IAMLoginModule required;")->outcome,
            PropertyOutcome::kTranslated);
  EXPECT_TRUE(out_.settings.empty());
}

TEST_F(DebeziumLoginTest, ProfileOfTheAwsCommandLineIsRefused) {
  const auto result =
      Login("software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName=\"dev\";");
  EXPECT_EQ(result->outcome, PropertyOutcome::kRefused);
  EXPECT_THAT(result->note, HasSubstr("awsProfileName"));
}

constexpr const char* kOauth =
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    "clientId=\"relay\" clientSecret=\"{}\" scope=\"kafka\" extension_logicalCluster=\"lkc-1\" "
    "extension_identityPoolId=\"pool-1\";";

TEST_F(DebeziumLoginTest, ClientCredentialsAreTranslated) {
  EXPECT_EQ(Login(fmt::format(fmt::runtime(kOauth), "hush"))->outcome,
            PropertyOutcome::kTranslated);
  EXPECT_THAT(out_.settings,
              UnorderedElementsAre(
                  Pair("kafka.oauth.client_id", "relay"), Pair("kafka.oauth.client_secret", "hush"),
                  Pair("kafka.oauth.scope", "kafka"),
                  Pair("kafka.oauth.extensions", "identityPoolId=pool-1,logicalCluster=lkc-1")));
}

TEST_F(DebeziumLoginTest, SecretOfAConfigProviderIsRequested) {
  Login(fmt::format(fmt::runtime(kOauth), "${file:/secrets:oauth}"));
  EXPECT_FALSE(out_.settings.contains("kafka.oauth.client_secret"));
  EXPECT_THAT(out_.required, Contains("kafka.oauth.client_secret_file"));
}

TEST_F(DebeziumLoginTest, OtherLoginsAreNotTranslated) {
  EXPECT_FALSE(Login("com.example.LoginModule required;"));
}

TEST_F(DebeziumLoginTest, TokenEndpointIsAUrlOrAFile) {
  Property("sasl.oauthbearer.token.endpoint.url", "https://id/token");
  EXPECT_THAT(out_.settings, Contains(Pair("kafka.oauth.token_endpoint", "https://id/token")));
  Property("sasl.oauthbearer.token.endpoint.url", "file:///run/token");
  EXPECT_THAT(out_.settings, Contains(Pair("kafka.oauth.token_file", "/run/token")));
}

TEST_F(DebeziumLoginTest, PropertiesOfTheClientAreTranslated) {
  Property("sasl.oauthbearer.client.credentials.client.id", "relay");
  Property("sasl.oauthbearer.client.credentials.client.secret", "hush");
  Property("sasl.oauthbearer.scope", "kafka");
  EXPECT_THAT(out_.settings, UnorderedElementsAre(Pair("kafka.oauth.client_id", "relay"),
                                                  Pair("kafka.oauth.client_secret", "hush"),
                                                  Pair("kafka.oauth.scope", "kafka")));
}

TEST_F(DebeziumLoginTest, KnownHandlersAreBuiltInAndOthersAreNot) {
  for (const char* handler :
       {"software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"}) {
    EXPECT_EQ(Property("sasl.login.callback.handler.class", handler)->outcome,
              PropertyOutcome::kEquivalent);
  }
  EXPECT_FALSE(Property("sasl.login.callback.handler.class", "com.example.Handler"));
  EXPECT_EQ(Property("sasl.login.refresh.window.factor", "0.8")->outcome,
            PropertyOutcome::kMeaningless);
  EXPECT_FALSE(Property("sasl.mechanism", "OAUTHBEARER"));
}

}  // namespace
}  // namespace walrelay

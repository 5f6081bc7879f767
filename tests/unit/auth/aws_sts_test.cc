#include "auth/aws_sts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/environment_variable.h"
#include "fakes/fake_http_server.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// As in the AWS STS API Reference.
constexpr const char* kAnswer =
    R"(<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult>
    <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/relay/walrelay</Arn></AssumedRoleUser>
    <Credentials>
      <AccessKeyId>ASIAROLE</AccessKeyId>
      <SecretAccessKey>role/secret+key</SecretAccessKey>
      <SessionToken>role-token==</SessionToken>
      <Expiration>2015-08-30T12:36:00Z</Expiration>
    </Credentials>
  </AssumeRoleResult>
</AssumeRoleResponse>)";

class AwsStsTest : public ::testing::Test {
 protected:
  testing::FakeHttpServer::Answer answer_{.body = kAnswer};
  testing::FakeHttpServer server_{[this](const auto&) { return answer_; }};
  testing::EnvironmentVariable endpoint_{"AWS_ENDPOINT_URL_STS", server_.url()};
  AwsConfig aws_{.region = "eu-west-1", .role_arn = "arn:aws:iam::123456789012:role/relay"};
  AwsCredentials own_{.access_key_id = "AKIDEXAMPLE", .secret_access_key = Secret("secret")};
};

TEST_F(AwsStsTest, RoleIsAssumedWithASignedRequest) {
  const auto found = AssumeRole(aws_, own_, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->access_key_id, "ASIAROLE");
  EXPECT_EQ(found->secret_access_key.Reveal(), "role/secret+key");
  EXPECT_EQ(found->session_token.Reveal(), "role-token==");
  EXPECT_EQ(found->expiry, WallTime(std::chrono::seconds(1'440'938'160)));
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(
      request.body,
      "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2F"
      "relay&RoleSessionName=walrelay");
  EXPECT_THAT(request.headers.at("authorization"),
              StartsWith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
  EXPECT_THAT(
      request.headers.at("authorization"),
      HasSubstr("/eu-west-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date,"));
  EXPECT_EQ(request.headers.at("content-type"), "application/x-www-form-urlencoded");
}

TEST_F(AwsStsTest, WebIdentityNeedsNoSignature) {
  const auto found =
      AssumeRoleWithWebIdentity("eu-west-1", aws_.role_arn, "pod", Secret("a.b+c.d"), {});
  ASSERT_THAT(found, IsOk());
  const auto request = server_.requests().at(0);
  EXPECT_THAT(request.body, HasSubstr("Action=AssumeRoleWithWebIdentity&"));
  EXPECT_THAT(request.body, HasSubstr("&RoleSessionName=pod&WebIdentityToken=a.b%2Bc.d"));
  EXPECT_EQ(request.headers.count("authorization"), 0u);
}

TEST_F(AwsStsTest, IncompleteAnswerIsAnError) {
  answer_.body = "<Credentials><AccessKeyId>ASIAROLE</AccessKeyId></Credentials>";
  EXPECT_THAT(AssumeRole(aws_, own_, {}), HasError(ErrorCode::kKafkaToken));
}

}  // namespace
}  // namespace walrelay

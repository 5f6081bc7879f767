#include "auth/aws_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::EndsWith;

// The credentials, time and scope of AWS's test suite for Signature Version 4
// (github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4); each case names its folder.
class AwsSignatureTest : public ::testing::Test {
 protected:
  // The signature of the presigned URL, as in query-signature.txt.
  std::string Presigned() const {
    const std::string url = PresignUrl(request_, scope_, credentials_, std::chrono::hours(1));
    return url.substr(url.rfind('=') + 1);
  }
  // The last line of header-signed-request.txt.
  std::string Authorization() const {
    return SignHeaders(request_, scope_, credentials_).back().Reveal();
  }

  AwsRequest request_{.host = "example.amazonaws.com"};
  SigningScope scope_{"us-east-1", "service", WallTime(std::chrono::seconds(1'440'938'160))};
  AwsCredentials credentials_{
      .access_key_id = "AKIDEXAMPLE",
      .secret_access_key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")};
};

TEST_F(AwsSignatureTest, GetVanilla) {
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
}

TEST_F(AwsSignatureTest, GetVanillaWithSessionToken) {
  credentials_.session_token =
      Secret("6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267");
  EXPECT_EQ(Presigned(), "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c");
  EXPECT_EQ(Authorization(),
            "Authorization: AWS4-HMAC-SHA256 "
            "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date;x-amz-security-token, "
            "Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8");
}

TEST_F(AwsSignatureTest, GetVanillaQueryOrderEncoded) {
  request_.query = {{"Param-3", "Value3"}, {"Param", "Value2"}, {"\xE1\x88\xB4", "Value1"}};
  EXPECT_EQ(Presigned(), "c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787");
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature=371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"));
}

TEST_F(AwsSignatureTest, PostXWwwFormUrlencoded) {
  request_.method = "POST";
  request_.body = "Param1=value1";
  request_.headers = {{"content-type", "application/x-www-form-urlencoded"},
                      {"content-length", "13"}};
  EXPECT_EQ(Presigned(), "89a40deed0f26f9461242825a082d2222717248abc7ab41f552ad84a94ad46e9");
  request_.headers.emplace_back("x-amz-content-sha256",
                                "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e");
  EXPECT_EQ(Authorization(),
            "Authorization: AWS4-HMAC-SHA256 "
            "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
            "content-length;content-type;host;x-amz-content-sha256;x-amz-date, "
            "Signature=d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b");
}

}  // namespace
}  // namespace walrelay

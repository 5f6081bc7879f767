#include "auth/aws_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "fakes/environment_variable.h"
#include "fakes/fake_http_server.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using Answer = testing::FakeHttpServer::Answer;
using Request = testing::FakeHttpServer::Request;

constexpr const char* kCredentials =
    R"({"Code":"Success","AccessKeyId":"ASIAOWN","SecretAccessKey":"own/secret","Token":"own-token",)"
    R"("Expiration":"2015-08-30T12:36:00Z"})";

// One server for every service, which must not be asked unless a case says so.
class AwsCredentialsTest : public ::testing::Test {
 protected:
  AwsCredentialsTest() {
    for (const char* name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
          "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
          "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
          "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
          "AWS_EC2_METADATA_DISABLED"}) {
      variables_.emplace_back(name, std::nullopt);
    }
    Set("AWS_ENDPOINT_URL_STS", server_.url());
    Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.url() + "/");
  }
  void Set(const std::string& name, const std::string& value) {
    variables_.emplace_back(name, value);
  }
  // The access key of the credentials, or the error's message.
  std::string Find() {
    const auto found = FindAwsCredentials(aws_, {});
    EXPECT_TRUE(found.ok() || HasCode(found.status(), ErrorCode::kKafkaToken));
    return found.ok() ? found->access_key_id : MessageOf(found.status());
  }

  // The metadata service, version 2: without the session's token there is no answer.
  static Answer InstanceMetadata(const Request& request) {
    if (request.path == "/latest/api/token") {
      const bool valid = request.method == "PUT" &&
                         request.headers.count("x-aws-ec2-metadata-token-ttl-seconds") == 1;
      return valid ? Answer{.body = "session"} : Answer{.status = 400};
    }
    const auto token = request.headers.find("x-aws-ec2-metadata-token");
    if (token == request.headers.end() || token->second != "session") {
      return {.status = 401};
    }
    const std::string roles = "/latest/meta-data/iam/security-credentials/";
    return request.path == roles                  ? Answer{.body = "relay-role"}
           : request.path == roles + "relay-role" ? Answer{.body = kCredentials}
                                                  : Answer{.status = 404};
  }

  std::function<Answer(const Request&)> answer_ = [](const Request&) {
    return Answer{.status = 500};
  };
  testing::FakeHttpServer server_{[this](const Request& request) { return answer_(request); }};
  testing::TemporaryDirectory directory_;
  AwsConfig aws_{.region = "eu-west-1"};

 private:
  std::deque<testing::EnvironmentVariable> variables_;
};

TEST_F(AwsCredentialsTest, EnvironmentComesFirst) {
  Set("AWS_ACCESS_KEY_ID", "AKIDENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  Set("AWS_SESSION_TOKEN", "token");
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server_.url());
  const auto found = FindAwsCredentials(aws_, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->access_key_id, "AKIDENV");
  EXPECT_EQ(found->session_token.Reveal(), "token");
  EXPECT_EQ(found->expiry, std::nullopt);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(AwsCredentialsTest, WebIdentityIsExchangedForARole) {
  answer_ = [](const Request& request) {
    EXPECT_THAT(request.body, HasSubstr("RoleArn=arn%3Apod"));
    EXPECT_THAT(request.body, HasSubstr("RoleSessionName=pod-1&WebIdentityToken=identity"));
    return Answer{.body =
                      "<AccessKeyId>ASIAPOD</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                      "<SessionToken>t</SessionToken>"};
  };
  // Readable by others, as Kubernetes may mount it.
  Set("AWS_WEB_IDENTITY_TOKEN_FILE", directory_.Write("token", "identity\n", 0644));
  Set("AWS_ROLE_ARN", "arn:pod");
  Set("AWS_ROLE_SESSION_NAME", "pod-1");
  EXPECT_EQ(Find(), "ASIAPOD");
}

TEST_F(AwsCredentialsTest, MissingWebIdentityIsAnError) {
  Set("AWS_WEB_IDENTITY_TOKEN_FILE", directory_.File("missing"));
  Set("AWS_ROLE_ARN", "arn:pod");
  EXPECT_THAT(Find(), HasSubstr("AWS web identity: "));
}

TEST_F(AwsCredentialsTest, ContainerEndpointReceivesTheTokenOfTheFile) {
  answer_ = [](const Request& request) {
    EXPECT_EQ(request.path, "/v1/credentials");
    return request.headers.at("authorization") == "pod token" ? Answer{.body = kCredentials}
                                                              : Answer{.status = 403};
  };
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server_.url() + "/v1/credentials");
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "stale");
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", directory_.Write("token", "pod token\n"));
  const auto found = FindAwsCredentials(aws_, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->access_key_id, "ASIAOWN");
  EXPECT_EQ(found->secret_access_key.Reveal(), "own/secret");
  EXPECT_EQ(found->session_token.Reveal(), "own-token");
  EXPECT_EQ(found->expiry, WallTime(std::chrono::seconds(1'440'938'160)));
}

TEST_F(AwsCredentialsTest, ContainerEndpointOnANetworkNeedsHttps) {
  for (const char* url :
       {"http://example.com/", "http://169.254.170.20/", "http://127.0.0.1.example.com/"}) {
    Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    EXPECT_THAT(Find(), HasSubstr("needs https")) << url;
  }
}

// "http://127.0.0.1:80@192.0.2.2/" only looks like this host.
TEST_F(AwsCredentialsTest, UrlWithAUserIsRefused) {
  for (const char* url : {"http://127.0.0.1:80@192.0.2.2:25998/x", "https://u:p@192.0.2.2/",
                          "http://127.0.0.1@192.0.2.2/", "ftp://127.0.0.1/", "127.0.0.1"}) {
    Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    EXPECT_THAT(Find(), HasSubstr("without user and password")) << url;
  }
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "");
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:80@192.0.2.2");
  EXPECT_THAT(Find(), HasSubstr("without user and password"));
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://192.0.2.2");
  EXPECT_THAT(Find(), HasSubstr("needs https"));
}

TEST_F(AwsCredentialsTest, InstanceMetadataIsAskedWithASessionToken) {
  answer_ = InstanceMetadata;
  EXPECT_EQ(Find(), "ASIAOWN");
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(AwsCredentialsTest, InstanceMetadataCanBeDisabled) {
  Set("AWS_EC2_METADATA_DISABLED", "true");
  EXPECT_THAT(Find(), HasSubstr("none are configured"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(AwsCredentialsTest, AnswerWithoutCredentialsIsAnErrorThatDoesNotQuoteIt) {
  answer_ = [](const Request&) { return Answer{.body = "hunter2"}; };
  EXPECT_EQ(Find(), "EC2 instance metadata: the answer has no credentials");
}

TEST_F(AwsCredentialsTest, ConfiguredRoleIsAssumedWithTheOwnCredentials) {
  Set("AWS_ACCESS_KEY_ID", "AKIDENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  aws_.role_arn = "arn:other";
  answer_ = [](const Request& request) {
    EXPECT_THAT(request.headers.at("authorization"), HasSubstr("Credential=AKIDENV/"));
    return Answer{.body =
                      "<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                      "<SessionToken>t</SessionToken>"};
  };
  EXPECT_EQ(Find(), "ASIAROLE");
}

}  // namespace
}  // namespace walrelay

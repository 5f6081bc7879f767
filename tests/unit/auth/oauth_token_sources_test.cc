#include "auth/oauth_token_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "absl/strings/escaping.h"
#include "base/unique_fd.h"
#include "fakes/fake_http_server.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OauthTokenSourcesTest : public ::testing::Test {
 protected:
  OauthConfig oauth_;
  testing::TemporaryDirectory directory_;
};

TEST_F(OauthTokenSourcesTest, FileIsReadEachTime) {
  oauth_.token_file = directory_.Write("token", "first\n");
  FileTokenSource source(oauth_);
  EXPECT_EQ(source.Fetch(-1)->value.Reveal(), "first");
  directory_.Write("token", "second\n");
  EXPECT_EQ(source.Fetch(-1)->value.Reveal(), "second");
}

TEST_F(OauthTokenSourcesTest, UnusableFileIsAnError) {
  for (const std::string& path : {directory_.File("missing"), directory_.Write("open", "t", 0644),
                                  directory_.Write("empty", "")}) {
    oauth_.token_file = path;
    const auto token = FileTokenSource(oauth_).Fetch(-1);
    ASSERT_THAT(token, HasError(ErrorCode::kKafkaToken)) << path;
    EXPECT_THAT(MessageOf(token.status()), HasSubstr(path));
  }
}

TEST_F(OauthTokenSourcesTest, CommandPrintsTheToken) {
  oauth_.token_command = {"echo", R"({"access_token":"opaque","expires_in":60})"};
  const auto token = CommandTokenSource(oauth_).Fetch(-1);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->value.Reveal(), "opaque");
}

TEST_F(OauthTokenSourcesTest, CommandIsInterrupted) {
  const UniqueFd interrupt(::eventfd(1, EFD_CLOEXEC));
  oauth_.token_command = {"sleep", "1000"};
  EXPECT_TRUE(absl::IsCancelled(CommandTokenSource(oauth_).Fetch(interrupt.get()).status()));
}

class OidcTokenSourceTest : public OauthTokenSourcesTest {
 protected:
  OidcTokenSourceTest() {
    oauth_.token_endpoint = server_.url() + "/token?secret=hunter2";
    oauth_.client_id = "relay:1";
    oauth_.client_secret = Secret("s3 cret");
  }
  absl::StatusOr<Token> Fetch() { return OidcTokenSource(oauth_).Fetch(-1); }

  testing::FakeHttpServer::Answer answer_{.body = R"({"access_token":"opaque","expires_in":60})"};
  testing::FakeHttpServer server_{[this](const auto&) { return answer_; }};
};

TEST_F(OidcTokenSourceTest, ClientCredentialsAreExchangedForAToken) {
  oauth_.scope = "kafka.write offline";
  const auto token = Fetch();
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->value.Reveal(), "opaque");
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/token?secret=hunter2");
  EXPECT_EQ(request.headers.at("authorization"),
            "Basic " + absl::Base64Escape("relay%3A1:s3%20cret"));
  EXPECT_EQ(request.headers.at("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(request.body, "grant_type=client_credentials&scope=kafka.write%20offline");
}

TEST_F(OidcTokenSourceTest, SecretOfAFileIsReadForEachToken) {
  oauth_.client_secret_file = directory_.Write("secret", "first\n");
  EXPECT_THAT(Fetch(), IsOk());
  directory_.Write("secret", "second\n");
  EXPECT_THAT(Fetch(), IsOk());
  EXPECT_EQ(server_.requests().at(0).headers.at("authorization"),
            "Basic " + absl::Base64Escape("relay%3A1:first"));
  EXPECT_EQ(server_.requests().at(1).headers.at("authorization"),
            "Basic " + absl::Base64Escape("relay%3A1:second"));
}

TEST_F(OidcTokenSourceTest, ErrorOfTheProviderIsReported) {
  answer_ = {.status = 401,
             .body = R"({"error":"invalid_client","error_description":"unknown client"})"};
  const auto token = Fetch();
  ASSERT_THAT(token, HasError(ErrorCode::kKafkaToken));
  EXPECT_EQ(MessageOf(token.status()),
            server_.url() + "/token: HTTP status 401: invalid_client: unknown client");
}

TEST_F(OidcTokenSourceTest, OtherAnswersAreNotQuoted) {
  for (const int status : {200, 302, 500}) {
    answer_ = {.status = status, .body = "hunter2"};
    if (status == 200) {
      answer_.body = R"({"token":"hunter2"})";
    }
    const auto token = Fetch();
    ASSERT_THAT(token, HasError(ErrorCode::kKafkaToken)) << status;
    EXPECT_THAT(MessageOf(token.status()), Not(HasSubstr("hunter2")));
  }
}

TEST_F(OidcTokenSourceTest, SilentProviderTimesOut) {
  oauth_.token_endpoint = "http://127.0.0.1:1/";
  EXPECT_THAT(Fetch(), HasError(ErrorCode::kKafkaToken));
}

TEST_F(OidcTokenSourceTest, UnusableSecretFileIsAnError) {
  oauth_.client_secret_file = directory_.File("missing");
  EXPECT_THAT(Fetch(), HasError(ErrorCode::kKafkaToken));
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace walrelay

#include "base/http_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/unique_fd.h"
#include "fakes/fake_http_server.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using Answer = testing::FakeHttpServer::Answer;

class HttpCallTest : public ::testing::Test {
 protected:
  Answer answer_{.body = "answer"};
  testing::FakeHttpServer server_{[this](const auto&) { return answer_; }};
  HttpCall call_{.url = server_.url() + "/path?query"};
};

TEST_F(HttpCallTest, RequestIsSentAsGiven) {
  call_.method = "PUT";
  call_.headers = {Secret("X-Token: secret"), Secret("Content-Type: text/plain")};
  call_.body = Secret("body\nof the request");
  const auto reply = CallHttp(call_);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->status, 200u);
  EXPECT_EQ(reply->body.Reveal(), "answer");
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/path?query");
  EXPECT_EQ(request.headers.at("x-token"), "secret");
  EXPECT_EQ(request.headers.at("content-type"), "text/plain");
  EXPECT_EQ(request.body, "body\nof the request");
}

TEST_F(HttpCallTest, ErrorOfTheServerIsAReply) {
  answer_ = {.status = 503, .body = "later"};
  const auto reply = CallHttp(call_);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->status, 503u);
  EXPECT_EQ(reply->body.Reveal(), "later");
}

TEST_F(HttpCallTest, RedirectIsNotFollowed) {
  answer_ = {.status = 302};
  EXPECT_EQ(CallHttp(call_)->status, 302u);
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(HttpCallTest, LargestBodyIsAcceptedAndLongerIsAnError) {
  call_.max_bytes = 6;
  EXPECT_THAT(CallHttp(call_), IsOk());
  call_.max_bytes = 5;
  EXPECT_EQ(MessageOf(CallHttp(call_).status()).substr(0, 18), "response too large");
}

TEST_F(HttpCallTest, InterruptEndsTheCall) {
  const UniqueFd interrupt(::eventfd(1, EFD_CLOEXEC));
  call_.interrupt_fd = interrupt.get();
  EXPECT_TRUE(absl::IsCancelled(CallHttp(call_).status()));
}

TEST_F(HttpCallTest, OtherSchemesAreRejected) {
  call_.url = "file:///etc/passwd";
  EXPECT_TRUE(absl::IsUnavailable(CallHttp(call_).status()));
}

TEST_F(HttpCallTest, RequestInClearTextToAnotherHostIsRefused) {
  for (const char* url : {"http://192.0.2.2/", "http://127.0.0.1:80@192.0.2.2/"}) {
    call_.url = url;
    EXPECT_TRUE(absl::IsUnavailable(CallHttp(call_).status())) << url;
  }
  call_.url = "http://192.0.2.2/";
  EXPECT_EQ(MessageOf(CallHttp(call_).status()),
            "the request would cross the network in clear text: use https");
}

TEST(ParseHttpUrlTest, HostIsTheOneThatLibcurlConnectsTo) {
  for (const auto& [url, host] :
       {std::pair("http://localhost/x", "localhost"), std::pair("http://[::1]:80/?a@b", "::1"),
        std::pair("https://example.com#x@y", "example.com"),
        std::pair("http://127.1/", "127.0.0.1")}) {
    const auto parsed = ParseHttpUrl(url);
    ASSERT_TRUE(parsed.has_value()) << url;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->IsPrivate(), std::string_view(host) != "example.com" || parsed->tls);
  }
  for (const char* url :
       {"", "localhost", "ftp://localhost/", "file:///x", "http://", "http://u@localhost/",
        "http://u:p@localhost/", "http://127.0.0.1:80@example.com/", "http://a b/",
        "http://localhost\t/", "http://127.0.0.1\\@example.com/", " http://localhost/"}) {
    EXPECT_FALSE(ParseHttpUrl(url).has_value()) << url;
  }
}

TEST(UriEncodeTest, OnlyUnreservedCharactersRemain) {
  EXPECT_EQ(UriEncode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(UriEncode("a b+c/d:\xC3\xA9%"), "a%20b%2Bc%2Fd%3A%C3%A9%25");
}

}  // namespace
}  // namespace walrelay

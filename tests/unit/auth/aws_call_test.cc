#include "auth/aws_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_http_server.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AwsCallTest, TimesAreParsed) {
  EXPECT_EQ(ParseAwsTime("2015-08-30T12:36:00Z"), WallTime(std::chrono::seconds(1'440'938'160)));
  EXPECT_EQ(ParseAwsTime("2015-08-30T12:36:00.123Z"),
            WallTime(std::chrono::seconds(1'440'938'160)));
  for (const char* text : {"", "2015-08-30", "2015-08-30T12:36:00", "soon"}) {
    EXPECT_EQ(ParseAwsTime(text), std::nullopt) << text;
  }
}

TEST(AwsCallTest, XmlElementsAreFound) {
  EXPECT_EQ(XmlElement("<a><b>one</b><b>two</b></a>", "b"), "one");
  EXPECT_EQ(XmlElement("<a></a>", "a"), "");
  EXPECT_EQ(XmlElement("<a>text", "a"), "");
  EXPECT_EQ(XmlElement("</a>", "a"), "");
}

TEST(AwsCallTest, ErrorOfTheServiceIsQuotedAndOtherBodiesAreNot) {
  std::string body =
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no\x1B</Message></Error>";
  testing::FakeHttpServer server(
      [&](const auto&) { return testing::FakeHttpServer::Answer{.status = 403, .body = body}; });
  auto reply = CallAws("AWS STS", {.url = server.url()}, {});
  ASSERT_THAT(reply, HasError(ErrorCode::kKafkaToken));
  EXPECT_THAT(MessageOf(reply.status()), HasSubstr("AWS STS: HTTP status 403: AccessDenied: no"));
  EXPECT_THAT(MessageOf(reply.status()), Not(HasSubstr("\x1B")));
  body = "hunter2";
  reply = CallAws("AWS STS", {.url = server.url()}, {});
  EXPECT_EQ(MessageOf(reply.status()), "AWS STS: HTTP status 403");
}

}  // namespace
}  // namespace walrelay

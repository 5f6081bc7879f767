#include "route/topic_name.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

TEST(TopicNameTest, LegalNamesAreAccepted) {
  for (const char* topic :
       {"a", "outbox.event.order", "A-Z_0.9", "...", "_internal", ".hidden", "-", "a__b"}) {
    EXPECT_THAT(CheckTopicName(topic), IsOk()) << topic;
  }
}

TEST(TopicNameTest, EveryIllegalByteIsRejected) {
  constexpr std::string_view kLegal =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string topic = std::string("a") + static_cast<char>(byte) + "b";
    EXPECT_EQ(CheckTopicName(topic).ok(), kLegal.find(topic[1]) != std::string_view::npos) << byte;
  }
}

TEST(TopicNameTest, ReasonIsNamed) {
  EXPECT_THAT(CheckTopicName(""), HasError(ErrorCode::kTopicInvalid, "is empty"));
  EXPECT_THAT(CheckTopicName("."),
              HasError(ErrorCode::kTopicInvalid, "\".\" is not a valid topic name"));
  EXPECT_THAT(CheckTopicName(".."),
              HasError(ErrorCode::kTopicInvalid, "\"..\" is not a valid topic name"));
  EXPECT_THAT(CheckTopicName("__consumer_offsets"), HasError(ErrorCode::kTopicInvalid, "reserved"));
  EXPECT_THAT(CheckTopicName("a b"), HasError(ErrorCode::kTopicInvalid, "\"a b\" has characters"));
}

TEST(TopicNameTest, LengthIsAtMost249) {
  EXPECT_THAT(CheckTopicName(std::string(249, 'a')), IsOk());
  EXPECT_THAT(CheckTopicName(std::string(250, 'a')),
              HasError(ErrorCode::kTopicInvalid, "250 characters"));
}

TEST(TopicNameTest, MessagesAreTruncatedAndEscaped) {
  const std::string message = MessageOf(CheckTopicName(std::string(100'000, 'x')));
  EXPECT_LT(message.size(), 200u);
  EXPECT_THAT(CheckTopicName("a\n\x1b[2J"), HasError(ErrorCode::kTopicInvalid, "a\\x0a\\x1b[2J"));
}

TEST(GlobTest, StarMatchesAnyRunAndQuestionMarkOneCharacter) {
  EXPECT_TRUE(MatchesGlob("outbox.event.order", "outbox.event.*"));
  EXPECT_TRUE(MatchesGlob("outbox.event.", "outbox.event.*"));
  EXPECT_TRUE(MatchesGlob("outbox.event.order", "*.order"));
  EXPECT_TRUE(MatchesGlob("order-1", "order-?"));
  EXPECT_FALSE(MatchesGlob("order-", "order-?"));
  EXPECT_FALSE(MatchesGlob("order-12", "order-?"));
  EXPECT_FALSE(MatchesGlob("outbox.event.order", "outbox.event"));
  EXPECT_FALSE(MatchesGlob("my.outbox.event.order", "outbox.event.*"));
}

TEST(GlobTest, OtherCharactersMatchThemselves) {
  EXPECT_FALSE(MatchesGlob("outboxXevent", "outbox.event"));
  EXPECT_FALSE(MatchesGlob("a", "[a]"));
  EXPECT_FALSE(MatchesGlob("Order", "order"));
  EXPECT_TRUE(MatchesGlob("a[b]\\", "a[b]\\"));
}

// The definition, implemented without regard to cost.
bool MatchesByDefinition(std::string_view text, std::string_view glob) {
  if (glob.empty()) {
    return text.empty();
  }
  if (glob[0] == '*') {
    return MatchesByDefinition(text, glob.substr(1)) ||
           (!text.empty() && MatchesByDefinition(text.substr(1), glob));
  }
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) &&
         MatchesByDefinition(text.substr(1), glob.substr(1));
}

// All strings of up to `length` letters of `alphabet`.
std::vector<std::string> Words(std::string_view alphabet, size_t length) {
  std::vector<std::string> words = {""};
  for (size_t i = 0; words[i].size() < length; ++i) {
    for (const char letter : alphabet) {
      words.push_back(words[i] + letter);
    }
  }
  return words;
}

TEST(GlobTest, EveryShortGlobMatchesItsDefinition) {
  for (const std::string& glob : Words("ab*?", 5)) {
    for (const std::string& text : Words("ab", 5)) {
      ASSERT_EQ(MatchesGlob(text, glob), MatchesByDefinition(text, glob))
          << text << " against " << glob;
    }
  }
}

// Topics are row data: a glob whose cost doubles with each star would allow a denial of service.
TEST(GlobTest, ManyStarsOnALongTextAreFast) {
  const std::string text(20'000, 'a');
  EXPECT_FALSE(MatchesGlob(text, "*a*a*a*a*a*a*a*a*b"));
  EXPECT_TRUE(MatchesGlob(text + "b", "*a*a*a*a*a*a*a*a*b"));
}

TEST(GlobTest, OneMatchingGlobIsEnough) {
  EXPECT_TRUE(MatchesAnyGlob("b", {"a", "b"}));
  EXPECT_FALSE(MatchesAnyGlob("c", {"a", "b"}));
  EXPECT_FALSE(MatchesAnyGlob("a", {}));
}

}  // namespace
}  // namespace walrelay

#include "route/topic_router.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/allocation_counter.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

constexpr char kDefaultRegex[] = "(?<routedByValue>.*)";

class TopicRouterTest : public ::testing::Test {
 protected:
  void Configure(std::string regex, std::string topic) {
    config_.regex = std::move(regex);
    config_.topic = std::move(topic);
    auto router = TopicRouter::Create(config_);
    ASSERT_THAT(router, IsOk());
    router_.emplace(*std::move(router));
  }
  absl::StatusOr<std::string_view> Topic(std::string_view aggregate_type) {
    if (!router_) {
      Configure(config_.regex, config_.topic);
    }
    return router_->Topic(aggregate_type);
  }
  void ExpectRefused(std::string regex, std::string topic, std::string part) {
    config_.regex = std::move(regex);
    config_.topic = std::move(topic);
    EXPECT_THAT(TopicRouter::Create(config_), HasError(ErrorCode::kConfigValue, part))
        << config_.regex;
  }

  RouteConfig config_;
  std::optional<TopicRouter> router_;
};

TEST_F(TopicRouterTest, DefaultsEqualDebeziums) {
  EXPECT_THAT(Topic("order"), IsOkAndHolds("outbox.event.order"));
  EXPECT_THAT(Topic("Order"), IsOkAndHolds("outbox.event.Order"));
  EXPECT_THAT(Topic(""), IsOkAndHolds("outbox.event."));
}

struct Parity {
  const char* name;  // the case that was executed with Debezium
  const char* regex;
  const char* topic;
  const char* aggregate_type;
  const char* routed;
};

class TopicParityTest : public ::testing::TestWithParam<Parity> {};

TEST_P(TopicParityTest, RoutesAsDebeziumDid) {
  const Parity& parity = GetParam();
  RouteConfig config;
  config.regex = parity.regex;
  config.topic = parity.topic;
  auto router = TopicRouter::Create(config);
  ASSERT_THAT(router, IsOk());
  EXPECT_THAT(router->Topic(parity.aggregate_type), IsOkAndHolds(parity.routed));
}

constexpr char kDefaultTopic[] = "outbox.event.${routedByValue}";

INSTANTIATE_TEST_SUITE_P(
    EventRouter, TopicParityTest,
    ::testing::Values(
        Parity{"A01", kDefaultRegex, kDefaultTopic, "User", "outbox.event.User"},
        Parity{"B01", kDefaultRegex, kDefaultTopic, "user", "outbox.event.user"},
        Parity{"B04", kDefaultRegex, "all-events", "User", "all-events"},
        Parity{"B05", "(.*)Aggregate", "ev.$1", "OrderAggregate", "ev.Order"},
        Parity{"B06", "order_(.*)", "ev.$1", "User", "User"},
        Parity{"B07", "Us", "ev.x", "User", "User"},
        Parity{"B08", "(?<routedByValue>.*?)", kDefaultTopic, "User", "outbox.event.User"},
        Parity{"B09", "(?<g>a|ab)", "t.${g}", "ab", "t.ab"},
        Parity{"B14", kDefaultRegex, kDefaultTopic, "", "outbox.event."},
        Parity{"B20", kDefaultRegex, kDefaultTopic, "da8d6de6-3b77-45ff-8f44-57db55a7a06c",
               "outbox.event.da8d6de6-3b77-45ff-8f44-57db55a7a06c"},
        Parity{"B21", kDefaultRegex, kDefaultTopic, "b", "outbox.event.b"},
        Parity{"B24", "(?<ctx>[a-z]+)\\.(?<agg>.*)", "${ctx}-events.${agg}", "sales.Order",
               "sales-events.Order"}),
    [](const auto& parity) { return parity.param.name; });

// Cases B15 and B22: Debezium passes these names to the producer, which fails the task.
TEST_F(TopicRouterTest, NamesIllegalInKafkaAreRowErrors) {
  EXPECT_THAT(Topic("a/b c:d"), HasError(ErrorCode::kTopicInvalid, "outbox.event.a/b c:d"));
  EXPECT_THAT(Topic("caf\xc3\xa9"), HasError(ErrorCode::kTopicInvalid));
  EXPECT_THAT(Topic(std::string(240, 'x')), HasError(ErrorCode::kTopicInvalid, "253 characters"));
  // `.` does not match a newline: the type itself is the topic, without the prefix.
  EXPECT_THAT(Topic("a\nb"), HasError(ErrorCode::kTopicInvalid, "\"a\\x0ab\""));
}

// A row that could write a progress record could make a relay skip events.
TEST_F(TopicRouterTest, TopicsOfWalrelayAreNoTopicsOfRows) {
  config_.topic = "${routedByValue}";
  config_.allow = {"*"};
  auto router = TopicRouter::Create(config_, {"records", "letters"});
  ASSERT_THAT(router, IsOk());
  for (const char* topic : {"walrelay.progress.", "walrelay.progress.shop.walrelay",
                            "walrelay.progress.other", "records", "letters"}) {
    EXPECT_THAT(router->Topic(topic), HasError(ErrorCode::kTopicInvalid, topic));
  }
  EXPECT_THAT(router->Topic("walrelay.progress"), IsOkAndHolds("walrelay.progress"));
  EXPECT_THAT(router->Topic("records2"), IsOkAndHolds("records2"));
  config_.regex = "(.*)";
  config_.topic = "letters";
  EXPECT_THAT(TopicRouter::Create(config_, {"letters"}), HasError(ErrorCode::kConfigValue));
}

TEST_F(TopicRouterTest, BytesThatAreNotUtf8DoNotMatch) {
  EXPECT_THAT(Topic("a\xff"), HasError(ErrorCode::kTopicInvalid, "\"a\\xff\""));
}

TEST_F(TopicRouterTest, WholeTypeMustMatchBeforeReplacement) {
  Configure("[a-z]+", "t");
  EXPECT_THAT(Topic("order"), IsOkAndHolds("t"));
  EXPECT_THAT(Topic("order1"), IsOkAndHolds("order1"));
  EXPECT_THAT(Topic("1order"), IsOkAndHolds("1order"));
}

TEST_F(TopicRouterTest, OnlyTheFirstMatchIsReplaced) {
  Configure("a|aab", "_");  // full match "aab", first match "a"
  EXPECT_THAT(Topic("aab"), IsOkAndHolds("_ab"));
  Configure("(?<first>[a-z]|.*)", "-${first}-");
  EXPECT_THAT(Topic("9order"), IsOkAndHolds("-9order-"));
  Configure("(?<first>[a-z]{2}|.+b)", "-${first}-");
  EXPECT_THAT(Topic("1ordb"), IsOkAndHolds("-1ordb-"));
  Configure("x*|order", "t.");  // the first match is empty, at the start of the text
  EXPECT_THAT(Topic("order"), IsOkAndHolds("t.order"));
}

TEST_F(TopicRouterTest, UnmatchedGroupIsEmpty) {
  Configure("(?<a>x)|(?<b>y)", "t${a}-${b}.");
  EXPECT_THAT(Topic("x"), IsOkAndHolds("tx-."));
  EXPECT_THAT(Topic("y"), IsOkAndHolds("t-y."));
}

TEST_F(TopicRouterTest, GroupNumberUsesAsManyDigitsAsNameAGroup) {
  Configure("(a)(b)", "$12.$2.$0.$1x");
  EXPECT_THAT(Topic("ab"), IsOkAndHolds("a2.b.ab.ax"));
  Configure("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)", "$12.$121.$1");
  EXPECT_THAT(Topic("abcdefghijkl"), IsOkAndHolds("l.l1.a"));
  const std::string nines(30, '9');
  Configure("(a)", "$1" + nines);
  EXPECT_THAT(Topic("a"), IsOkAndHolds("a" + nines));
}

TEST_F(TopicRouterTest, BackslashEscapesTheNextCharacter) {
  Configure("(a)", "\\a.\\b.$1");
  EXPECT_THAT(Topic("a"), IsOkAndHolds("a.b.a"));
  ExpectRefused("(a)", "\\a.\\$1.\\\\", "\"a.$1.\\\" has characters other than");
}

TEST_F(TopicRouterTest, InvalidTemplatesAreRejected) {
  ExpectRefused("(a)", "x.$7", "refers to no group");
  ExpectRefused("(a)", "$", "refers to no group");
  ExpectRefused("(a)", "$x", "refers to no group");
  ExpectRefused(kDefaultRegex, "t.${other}", "\"other\"");
  ExpectRefused(kDefaultRegex, "t.${}", "group \"\"");
  ExpectRefused(kDefaultRegex, "t.${routedByValue", "without \"}\"");
  ExpectRefused("(a)", "t\\", "ends with a backslash");
}

// Each row would be blocked, whatever its type is.
TEST_F(TopicRouterTest, TemplateThatMakesEveryTopicIllegalIsRejected) {
  ExpectRefused(kDefaultRegex, "", "route.topic is empty");
  ExpectRefused(kDefaultRegex, "ev ${routedByValue}", "\"ev \" has characters other than");
  ExpectRefused(kDefaultRegex, "${routedByValue}/events", "\"/events\"");
  ExpectRefused(kDefaultRegex, "__consumer_offsets", "reserved");
  ExpectRefused(kDefaultRegex, std::string(250, 'a') + "${routedByValue}", "250 characters");
  Configure(kDefaultRegex, "${routedByValue}");
}

TEST_F(TopicRouterTest, SyntaxUnsupportedByRe2IsRejectedWithTheExpression) {
  for (const char* regex :
       {"(?<=a)b", "(?<!a)b", "a(?=b)", "a(?!b)", "(a)\\1", "(?<n>a)\\k<n>", "(?>a)", "a*+", "a++",
        "(a", "a{2000}", "\\p{javaLowerCase}", "\\Z", "\\G"}) {
    ExpectRefused(regex, "t", fmt::format("'{}'", regex));
    ExpectRefused(regex, "t", "look-around");
  }
}

// Syntax that both engines accept with different meanings would route events to other topics than
// Java does.
TEST_F(TopicRouterTest, SyntaxWithAnotherMeaningInJavaIsRejected) {
  for (const char* regex :
       {"[a-z&&[^b]]", "[a&&b]", "[a-c[x-z]]", " [[a-z]", "[[:alpha:]]", "(?U)\\w+", "(?iU:a)"}) {
    ExpectRefused(regex, "t", "Java");
  }
}

TEST_F(TopicRouterTest, TextThatOnlyLooksLikeSyntaxIsAccepted) {
  Configure("[(?<n>]+(?<n>[a-z]+)", "t.${n}");
  EXPECT_THAT(Topic("<?(order"), IsOkAndHolds("t.order"));
  EXPECT_THAT(Topic("Porder"), IsOkAndHolds("Porder"));
  Configure("\\Q(?<n>[a&&\\E(?<n>.*)", "t.${n}");
  EXPECT_THAT(Topic("(?<n>[a&&order"), IsOkAndHolds("t.order"));
  Configure("\\(\\?<n>(?<n>[\\[\\]&]+)x", "t");
  EXPECT_THAT(Topic("(?<n>[&]x"), IsOkAndHolds("t"));
  Configure("[]a]+&&[^]b]", "t");
  EXPECT_THAT(Topic("]a&&c"), IsOkAndHolds("t"));
  Configure("[](?<n>]+(?<n>[a-z]+)", "t.${n}");
  EXPECT_THAT(Topic("]<order"), IsOkAndHolds("t.order"));
  EXPECT_THAT(Topic("Porder"), IsOkAndHolds("Porder"));
}

TEST_F(TopicRouterTest, TooManyGroupsAreRejected) {
  std::string groups;
  for (int i = 0; i < 31; ++i) {
    groups += "(a?)";
  }
  Configure(groups, "t.$31");
  EXPECT_THAT(Topic(std::string(31, 'a')), IsOkAndHolds("t.a"));
  ExpectRefused(groups + "()", "t", "more than 31 groups");
}

TEST_F(TopicRouterTest, PathologicalTypesAreMatchedInLinearTime) {
  Configure("(a+)+b|(?<rest>.*)", "t");
  EXPECT_THAT(Topic(std::string(100'000, 'a')), IsOkAndHolds("t"));
}

TEST_F(TopicRouterTest, OnlyAllowedTopicsAreAccepted) {
  config_.allow = {"outbox.event.order", "outbox.event.billing-*"};
  EXPECT_THAT(Topic("order"), IsOkAndHolds("outbox.event.order"));
  EXPECT_THAT(Topic("billing-eu"), IsOkAndHolds("outbox.event.billing-eu"));
  EXPECT_THAT(Topic("orders"), HasError(ErrorCode::kTopicInvalid, "not in route.allow"));
}

TEST_F(TopicRouterTest, CapCountsTopicsNotTypes) {
  config_.max_topics = 1;
  Configure("(?<first>[a-z]).*", "${first}");
  EXPECT_THAT(Topic("a1"), IsOkAndHolds("a"));
  EXPECT_THAT(Topic("a2"), IsOkAndHolds("a"));
  EXPECT_THAT(Topic("b"), HasError(ErrorCode::kTopicInvalid, "topic number 2"));
}

TEST_F(TopicRouterTest, TopicsWithinTheCapStayReachable) {
  config_.max_topics = 2;
  EXPECT_THAT(Topic("a"), IsOk());
  EXPECT_THAT(Topic("not legal"), HasError(ErrorCode::kTopicInvalid));  // does not count
  EXPECT_THAT(Topic("b"), IsOk());
  EXPECT_THAT(Topic("c"), HasError(ErrorCode::kTopicInvalid, "route.max_topics is 2"));
  EXPECT_THAT(Topic("c"), HasError(ErrorCode::kTopicInvalid, "topic number 3"));
  EXPECT_THAT(Topic("a"), IsOkAndHolds("outbox.event.a"));
  EXPECT_THAT(Topic("b"), IsOkAndHolds("outbox.event.b"));
}

TEST_F(TopicRouterTest, KnownTypeAllocatesNothing) {
  const std::string type(200, 'x');
  ASSERT_THAT(Topic(type), IsOk());
  bool routed = false;
  EXPECT_EQ(testing::AllocationsDuring([&] { routed = router_->Topic(type).ok(); }), 0u);
  EXPECT_TRUE(routed);
}

// Row data determines the number and the length of the types.
TEST_F(TopicRouterTest, MemoryIsBoundedForAnyTypes) {
  Configure(".*", "t");
  const auto route = [&](int from, int to, size_t length) {
    for (int i = from; i < to; ++i) {
      ASSERT_THAT(router_->Topic(fmt::format("{:0{}}", i, length)), IsOk());
    }
  };
  const size_t before = testing::LiveBytes();
  route(0, 100'000, 64);
  EXPECT_LT(testing::LiveBytes() - before, size_t{4} << 20);
  route(0, 200, 1'000'000);
  EXPECT_LT(testing::LiveBytes() - before, size_t{8} << 20);
}

}  // namespace
}  // namespace walrelay

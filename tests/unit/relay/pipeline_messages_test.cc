// Logical messages as events, through the whole relay between a fake Postgres and a fake Kafka.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "relay/relay.h"
#include "walrelay/config.h"
#include "walrelay/events/v1/dead_letter.pb.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kEvent =
    R"({"id": 7, "aggregate_type": "order", "aggregate_id": "k1", "event_type": "made", "payload": {"a": 1.50}})";

class LogicalMessagesTest : public testing::RelayFixture {
 protected:
  LogicalMessagesTest() {
    config_.source.message_prefixes = {"outbox"};
    kafka_.auto_acknowledge = true;
  }
  void Start() {
    MakeRelay();
    Run();
  }
  void Run() {
    for (int i = 0; i < 30 && !relay_->finished(); ++i) {
      clock_.Advance(std::chrono::milliseconds(50));
      relay_->Turn();
    }
  }
  // A transaction of messages; returns its end. nullopt: it commits now.
  Lsn Commit(const std::vector<std::string>& messages, std::optional<WallTime> time = {}) {
    const WallTime committed = time.value_or(clock_.WallNow());
    const Lsn commit = postgres_.info.server.wal_end;
    postgres_.info.server.wal_end = Lsn(commit.value() + 48);
    postgres_.SendRaw(testing::BeginMessage(commit, committed, 7));
    for (const std::string& message : messages) {
      postgres_.SendRaw(message);
    }
    postgres_.SendRaw(testing::CommitMessage(commit, postgres_.info.server.wal_end, committed));
    Run();
    return postgres_.info.server.wal_end;
  }
  static std::string Message(std::string_view content, std::string_view prefix = "outbox") {
    return testing::LogicalMessage(true, Lsn(100), prefix, content);
  }
  static std::string Event(const std::string& key) {
    return Message(R"({"id": "i", "aggregate_type": "order", "aggregate_id": ")" + key +
                   R"(", "payload": "p"})");
  }
};

TEST_F(LogicalMessagesTest, MessageIsPublishedLikeARow) {
  Start();
  const Lsn end = Commit({Message(kEvent)});
  ASSERT_EQ(kafka_.log.size(), 1U);
  const testing::FakeRecord& record = kafka_.log.front();
  EXPECT_EQ(record.topic, "outbox.event.order");
  EXPECT_EQ(record.key, "k1");
  EXPECT_EQ(record.value, R"({"a": 1.50})");
  EXPECT_EQ(record.headers.at("id"), "7");
  EXPECT_EQ(record.headers.at("event_type"), "made");
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(LogicalMessagesTest, MessagesAndRowsKeepTheOrderOfTheirCommits) {
  Start();
  postgres_.Commit({{.key = "row 1", .payload = "{}"}});
  Commit({Event("message 1"), Event("message 2")});
  postgres_.Commit({{.key = "row 2", .payload = "{}"}});
  Run();
  EXPECT_THAT(kafka_.Keys(), ElementsAre("row 1", "message 1", "message 2", "row 2"));
}

TEST_F(LogicalMessagesTest, NothingIsConfirmedBeforeItIsAcknowledged) {
  kafka_.auto_acknowledge = false;
  Start();
  const Lsn before = postgres_.confirmed();
  const Lsn end = Commit({Event("a")});
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.AcknowledgeAll();
  Run();
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(LogicalMessagesTest, MessagesWithOtherPrefixesAreSkippedAndCounted) {
  Start();
  const Lsn end = Commit({Message("not even JSON", "audit"), Message(kEvent, "outbox2")});
  postgres_.SendRaw(testing::LogicalMessage(false, Lsn(5000), "audit", "x"));
  Run();
  EXPECT_THAT(kafka_.log, IsEmpty());
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_EQ(metrics_.events_skipped["other_message"].Value(), 3);
}

TEST_F(LogicalMessagesTest, InvalidContentBlocksPublishing) {
  for (const char* content :
       {"hello", R"({"aggregate_type": "order", "aggregate_id": "k", "payload": "p"})",
        R"({"id": 1, "aggregate_type": "order", "aggregate_id": "k"})",
        R"({"id": 1, "aggregate_type": null, "aggregate_id": "k", "payload": "p"})",
        R"({"id": 1, "aggregate_type": "a b", "aggregate_id": "k", "payload": "p"})"}) {
    Start();
    const Lsn before = postgres_.confirmed();
    Commit({Message(content)});
    EXPECT_EQ(board_.Read().state, RelayState::kBlocked) << content;
    EXPECT_EQ(postgres_.confirmed(), before) << content;
    postgres_.BreakConnection();
  }
  EXPECT_THAT(kafka_.log, IsEmpty());
}

TEST_F(LogicalMessagesTest, InvalidMessagesCanBeSkipped) {
  config_.on_error.value = OnError::kSkip;
  Start();
  const Lsn end = Commit({Event("a"), Message("hello"), Message("{}"), Event("b")});
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_EQ(metrics_.events_skipped["WR-3007"].Value(), 2);
}

TEST_F(LogicalMessagesTest, InvalidMessagesCanBeDeadLettered) {
  config_.on_error.value = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Start();
  Commit({Message("hello"), Message(R"({"id": 1, "aggregate_id": "k"})")});
  ASSERT_EQ(kafka_.log.size(), 2U);
  EXPECT_EQ(kafka_.log[0].topic, "dead");
  events::v1::DeadLetter letter;
  ASSERT_TRUE(letter.ParseFromString(*kafka_.log[0].value));
  EXPECT_EQ(letter.table(), "outbox");
  ASSERT_EQ(letter.columns_size(), 1);
  EXPECT_EQ(letter.columns(0).value(), "hello");
  EXPECT_EQ(kafka_.log[1].key, "k");
}

// Any role may write one, and it is sent even when the transaction around it rolls back.
TEST_F(LogicalMessagesTest, MessagesOfACutTransactionAreNotSentAgain) {
  config_.on_error.value = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Start();
  const Lsn commit = postgres_.info.server.wal_end;
  const WallTime committed = clock_.WallNow();
  postgres_.SendRaw(testing::BeginMessage(commit, committed, 7));
  postgres_.SendRaw(Message("no JSON"));
  postgres_.SendRaw(Event("a"));
  Run();
  postgres_.BreakConnection();
  Run();
  Commit({Message("no JSON"), Event("a"), Event("b")}, committed);
  ASSERT_EQ(kafka_.log.size(), 3U);
  EXPECT_EQ(kafka_.log[0].topic, "dead");
  EXPECT_EQ(kafka_.log[1].key, "a");
  EXPECT_EQ(kafka_.log[2].key, "b");
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(LogicalMessagesTest, NonTransactionalMessageNeverBlocks) {
  for (const OnError policy : {OnError::kStop, OnError::kDeadLetter, OnError::kSkip}) {
    config_.on_error.value = policy;
    config_.on_error.dead_letter_topic = "dead";
    kafka_.log.clear();
    const double before = metrics_.events_skipped["WR-3009"].Value();
    Start();
    for (int i = 0; i < 3; ++i) {
      postgres_.SendRaw(testing::LogicalMessage(false, Lsn(5000), "outbox", kEvent));
    }
    const Lsn end =
        Commit({Event("a"), testing::LogicalMessage(false, Lsn(5001), "outbox", "x"), Event("b")});
    EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
    EXPECT_EQ(postgres_.confirmed(), end);
    EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
    EXPECT_EQ(metrics_.events_skipped["WR-3009"].Value() - before, 4);
    postgres_.BreakConnection();
  }
}

TEST_F(LogicalMessagesTest, MessageOutsideOfATransactionEndsTheSession) {
  Start();
  const size_t opens = postgres_.opens;
  postgres_.SendRaw(Event("a"));
  Run();
  EXPECT_GT(postgres_.opens, opens);
  EXPECT_THAT(kafka_.log, IsEmpty());
}

TEST_F(LogicalMessagesTest, MembersMayDifferFromMessageToMessage) {
  Start();
  Commit({Message(kEvent), Event("b"), Message(kEvent)});
  EXPECT_THAT(kafka_.Keys(), ElementsAre("k1", "b", "k1"));
  EXPECT_EQ(kafka_.log[1].headers.count("event_type"), 0U);
}

// As in Debezium: a decoded message has no table name for the name of the schema.
TEST_F(LogicalMessagesTest, EnvelopeSchemaIsNamedByTheFirstAggregateType) {
  config_.format.value.format = Format::kJsonSchema;
  config_.source.tables[0].placements = {
      {.column = "aggregate_id", .where = Placement::Where::kEnvelope, .name = "who"}};
  Start();
  Commit({Message(kEvent)});
  ASSERT_EQ(kafka_.log.size(), 1U);
  EXPECT_THAT(*kafka_.log[0].value, HasSubstr(R"("optional":false,"name":"order"})"));
}

}  // namespace
}  // namespace walrelay

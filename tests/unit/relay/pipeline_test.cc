// The pipeline message by message. pipeline_golden_test.cc, pipeline_messages_test.cc and
// pipeline_skipped_rows_test.cc test recorded streams, logical messages and the audit of skipped
// rows.
#include "relay/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "fakes/session_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOutboxOid;
using testing::TextRow;

constexpr uint32_t kOtherOid = kOutboxOid + 1;
constexpr uint32_t kMoodOid = 17001;
constexpr uint32_t kXid = 7;

class PipelineTest : public testing::PipelineFixture {
 protected:
  // The server describes the tables.
  void Describe() {
    const std::vector<testing::ColumnSpec> columns = {
        {"id", 25, true}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}};
    ExpectHandled(testing::RelationMessage(kOutboxOid, "public", "outbox", columns));
    ExpectHandled(testing::RelationMessage(kOtherOid, "public", "customers", columns));
  }
  void Start() {
    StartPipeline();
    Describe();
  }
  void ExpectHandled(const std::string& message) {
    EXPECT_THAT(Handle(message), IsOkAndHolds(Wait::kNone));
  }

  void Begin() { ExpectHandled(testing::BeginMessage(commit_, clock_.WallNow(), kXid)); }
  static std::string Row(const std::string& key, const std::optional<std::string>& type = "order",
                         uint32_t oid = kOutboxOid) {
    return testing::InsertMessage(oid, TextRow({key, type, key, "{}"}));
  }
  void Insert(const std::string& key) { ExpectHandled(Row(key)); }
  // Returns the end of the transaction.
  Lsn Commit() {
    const Lsn end(commit_.value() + 48);
    ExpectHandled(testing::CommitMessage(commit_, end, clock_.WallNow()));
    commit_ = end;
    return end;
  }
  void AcknowledgeAll() {
    kafka_.AcknowledgeAll();
    Poll();
  }
  // The keys of the records in flight.
  std::vector<std::string> InFlight() const {
    std::vector<std::string> keys;
    for (const testing::FakeRecord& record : kafka_.in_flight) {
      keys.push_back(record.key.value_or("NULL"));
    }
    return keys;
  }
  double Skipped(std::string_view reason) { return metrics_.events_skipped[reason].Value(); }

  Lsn commit_{1000};  // of the next transaction
};

TEST_F(PipelineTest, RowIsProducedAndItsTransactionConfirmedWhenAcknowledged) {
  Start();
  Begin();
  EXPECT_TRUE(pipeline_->in_transaction());
  EXPECT_EQ(pipeline_->last_commit_time(), clock_.WallNow());
  Insert("a");
  Insert("b");
  EXPECT_EQ(pipeline_->events_in_transaction(), 2u);
  const Lsn end = Commit();
  EXPECT_FALSE(pipeline_->in_transaction());
  EXPECT_EQ(frontier(), Lsn(1000));
  AcknowledgeAll();
  EXPECT_EQ(frontier(), end);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(metrics_.events_received->Value(), 2);
  EXPECT_EQ(metrics_.transactions["published"].Value(), 1);
}

// The catalog has properties of columns that the stream does not describe.
TEST_F(PipelineTest, ColumnsThatChangedSinceTheSessionBeganEndIt) {
  StartPipeline();
  pipeline_->EndSession();
  TableInfo table = postgres_.info.tables[0];
  table.columns = {{.name = "id", .type_oid = 25}, {.name = "total", .sent = false}};
  const auto described = [&](Lsn known_at, std::string_view column) {
    pipeline_->StartSession({&table, 1}, known_at);
    Begin();
    const auto handled =
        Handle(testing::RelationMessage(kOutboxOid, "public", "outbox", {{std::string(column)}}));
    pipeline_->EndSession();
    tracker_.AbandonOpen();
    tracker_.Resume(frontier());
    return handled;
  };
  EXPECT_THAT(described(Lsn(900), "id"), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(described(Lsn(900), "ident").status(), HasError(ErrorCode::kConnectionLost));
  EXPECT_THAT(described(commit_, "ident"), IsOkAndHolds(Wait::kNone));
}

// The server does not describe the table again when a type of a column has changed.
TEST_F(PipelineTest, LabelThatIsNewerThanTheSessionEndsIt) {
  config_.format.value.format = Format::kJsonSchema;
  config_.source.tables[0].placements = {
      {.column = "mood", .where = Placement::Where::kEnvelope, .name = "mood"}};
  StartPipeline();
  pipeline_->EndSession();
  TableInfo table = postgres_.info.tables[0];
  table.columns = {{.name = "mood", .enum_labels = {"sad"}, .type_oid = kMoodOid}};
  for (const char* name : {"id", "aggregate_type", "aggregate_id", "payload"}) {
    table.columns.push_back({.name = name, .type_oid = 25});
  }
  const auto inserted = [&](uint64_t early, const std::optional<std::string>& label) {
    pipeline_->StartSession({&table, 1}, Lsn(commit_.value() - early));
    Begin();
    ExpectHandled(testing::RelationMessage(
        kOutboxOid, "public", "outbox",
        {{"mood", kMoodOid}, {"id", 25, true}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}}));
    const auto handled =
        Handle(testing::InsertMessage(kOutboxOid, TextRow({label, "a", "order", "a", "{}"})));
    pipeline_->EndSession();
    tracker_.AbandonOpen();
    tracker_.Resume(frontier());
    commit_ = Lsn(commit_.value() + 48);
    return handled;
  };
  EXPECT_THAT(inserted(1, "glad").status(), HasError(ErrorCode::kConnectionLost));
  EXPECT_THAT(inserted(0, "glad"), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(inserted(1, "sad"), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(inserted(1, std::nullopt), IsOkAndHolds(Wait::kNone));
}

TEST_F(PipelineTest, RowsOfOtherTablesAreNotEvents) {
  Start();
  Begin();
  ExpectHandled(Row("x", "order", kOtherOid));
  const Lsn end = Commit();
  EXPECT_THAT(InFlight(), IsEmpty());
  EXPECT_EQ(frontier(), end);
  EXPECT_EQ(Skipped("other_table"), 1);
  EXPECT_EQ(metrics_.transactions["empty"].Value(), 1);
}

TEST_F(PipelineTest, TransactionsOfOtherNodesAreSkippedIfConfigured) {
  for (const OriginFilter origin : {OriginFilter::kNone, OriginFilter::kAny}) {
    config_.source.origin = origin;
    Start();
    Begin();
    ExpectHandled(testing::OriginMessage(Lsn(5), "pg_16390"));
    Insert("theirs");
    const Lsn end = Commit();
    const bool skipped = origin == OriginFilter::kNone;
    EXPECT_EQ(InFlight().size(), skipped ? 0u : 1u);
    AcknowledgeAll();
    EXPECT_EQ(frontier(), end);
    EXPECT_EQ(Skipped("origin"), 1);
    Begin();
    Insert("ours");
    Commit();
    EXPECT_THAT(InFlight(), ElementsAre("ours"));
    AcknowledgeAll();
    pipeline_->EndSession();
  }
}

// Postgres 13 does not name the origin if the snapshot of the transaction does not show it.
TEST_F(PipelineTest, TransactionOfAnUnnamedOriginIsSkipped) {
  config_.source.origin = OriginFilter::kNone;
  Start();
  Begin();
  ExpectHandled("");
  Insert("theirs");
  const Lsn end = Commit();
  EXPECT_EQ(frontier(), end);
  EXPECT_EQ(Skipped("origin"), 1);
}

TEST_F(PipelineTest, OriginBehindARowIsAViolation) {
  config_.source.origin = OriginFilter::kNone;
  Start();
  EXPECT_THAT(Handle(""), HasError(ErrorCode::kProtocolViolation));
  Begin();
  Insert("ours");
  EXPECT_THAT(Handle(testing::OriginMessage(Lsn(5), "o")), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(PipelineTest, UpdateOfAnotherNodeDoesNotBlockIfItsTransactionIsSkipped) {
  config_.source.origin = OriginFilter::kNone;
  config_.source.on_update = OnUpdate::kFail;
  Start();
  Begin();
  ExpectHandled(testing::OriginMessage(Lsn(5), "o"));
  ExpectHandled(testing::UpdateMessage(kOutboxOid, TextRow({"a", "order", "a", "{}"})));
  Commit();
  EXPECT_EQ(Skipped("update"), 1);
}

TEST_F(PipelineTest, TopicsOfSkippedTransactionsAreNotAnnounced) {
  config_.source.origin = OriginFilter::kNone;
  Start();
  const auto look = [&](const std::string& message) {
    EXPECT_TRUE(pipeline_->LookAhead({.sent = {}, .payload = message, .start = Lsn(1)}));
  };
  pipeline_->BeginLookAhead();
  look(testing::BeginMessage(commit_, clock_.WallNow(), kXid));
  look(testing::OriginMessage(Lsn(5), "o"));
  look(Row("a", "theirs"));
  EXPECT_THAT(kafka_.announced, IsEmpty());
  look(testing::BeginMessage(commit_, clock_.WallNow(), kXid));
  look(Row("a", "ours"));
  EXPECT_THAT(kafka_.announced, ElementsAre("outbox.event.ours"));
}

// --- order ---

TEST_F(PipelineTest, RowOutsideOfATransactionIsAViolation) {
  Start();
  EXPECT_THAT(Handle(Row("a")), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(PipelineTest, RowOfAnUndescribedTableIsAViolation) {
  Start();
  Begin();
  EXPECT_THAT(Handle(Row("a", "order", 99)),
              HasError(ErrorCode::kProtocolViolation, "row of table 99"));
}

TEST_F(PipelineTest, MessageThatCannotBeDecodedIsAViolation) {
  Start();
  EXPECT_THAT(Handle("Z"), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(PipelineTest, StreamAbortIsAViolationOnlyInItsTransaction) {
  Start();
  ExpectHandled(testing::StreamAbortMessage(kXid, kXid + 1));
  Begin();
  EXPECT_THAT(Handle(testing::StreamAbortMessage(kXid, kXid + 1)),
              HasError(ErrorCode::kProtocolViolation));
}

TEST_F(PipelineTest, SessionDiscardsTransactionAndDescriptionsOfThePreviousOne) {
  Start();
  Begin();
  StartOver();
  EXPECT_FALSE(pipeline_->in_transaction());
  EXPECT_EQ(pipeline_->last_commit_time(), std::nullopt);
  Begin();
  EXPECT_THAT(Handle(Row("a")), HasError(ErrorCode::kProtocolViolation));
}

// --- other messages ---

TEST_F(PipelineTest, TypesAndOriginsAreHandled) {
  Start();
  ExpectHandled(testing::TypeMessage(16500, "public", "mood"));
  Begin();
  ExpectHandled(testing::OriginMessage(Lsn(5), "elsewhere"));
  Insert("a");
  EXPECT_THAT(InFlight(), ElementsAre("a"));
}

TEST_F(PipelineTest, ChangesOfRowsAreCountedAndPublishNothing) {
  Start();
  Begin();
  const testing::Row row = TextRow({"a", "order", "a", "{}"});
  ExpectHandled(testing::UpdateMessage(kOutboxOid, row));
  ExpectHandled(testing::DeleteMessage(kOutboxOid, row));
  ExpectHandled(testing::DeleteMessage(kOtherOid, row));
  ExpectHandled(testing::TruncateMessage({kOtherOid, kOutboxOid}));
  Commit();
  EXPECT_THAT(InFlight(), IsEmpty());
  EXPECT_EQ(Skipped("update"), 1);
  EXPECT_EQ(Skipped("delete"), 1);
  EXPECT_EQ(Skipped("truncate"), 1);
  EXPECT_EQ(Skipped("other_table"), 1);
}

TEST_F(PipelineTest, UpdateOfTheOutboxBlocksIfConfigured) {
  config_.source.on_update = OnUpdate::kFail;
  Start();
  Begin();
  const testing::Row row = TextRow({"a", "order", "a", "{}"});
  ExpectHandled(testing::UpdateMessage(kOtherOid, row));
  EXPECT_THAT(Handle(testing::UpdateMessage(kOutboxOid, row)),
              HasError(ErrorCode::kUpdateRefused, "public.outbox"));
  ASSERT_TRUE(pipeline_->blocked_row());
  EXPECT_THAT(pipeline_->blocked_row()->row, HasSubstr("key=a"));
}

// --- a record that cannot be produced now ---

TEST_F(PipelineTest, RowIsOfferedAgainAndHandledOnce) {
  Start();
  Begin();
  Insert("a");
  kafka_.queue_limit = 1;
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kQueue));
  kafka_.queue_limit = 2;
  kafka_.pending_topics = {"outbox.event.order"};
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kTopic));
  EXPECT_EQ(pipeline_->events_in_transaction(), 1u);
  EXPECT_EQ(metrics_.events_received->Value(), 1);
  kafka_.pending_topics.clear();
  Insert("b");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b"));
  EXPECT_EQ(metrics_.events_received->Value(), 2);
}

TEST_F(PipelineTest, ErrorOfTheTopicNamesTheRow) {
  Start();
  Begin();
  kafka_.bad_topics["outbox.event.order"] = Error(ErrorCode::kTopicUnknown, "outbox.event.order");
  EXPECT_THAT(Handle(Row("a")), HasError(ErrorCode::kTopicUnknown));
  ASSERT_TRUE(pipeline_->blocked_row());
  EXPECT_THAT(pipeline_->blocked_row()->row, HasSubstr("key=a"));
  kafka_.bad_topics.clear();
  Insert("a");
  EXPECT_FALSE(pipeline_->blocked_row());
}

// --- rows that cannot be published ---

TEST_F(PipelineTest, RowWithoutATopicBlocksAndIsNamed) {
  Start();
  Begin();
  const auto outcome = Handle(Row("bad", std::nullopt));
  EXPECT_THAT(outcome, HasError(ErrorCode::kRouteMissing));
  ASSERT_TRUE(pipeline_->blocked_row());
  EXPECT_EQ(pipeline_->blocked_row()->table, "public.outbox");
  EXPECT_THAT(pipeline_->blocked_row()->row, HasSubstr("key=bad"));
  EXPECT_EQ(pipeline_->blocked_row()->commit_lsn, Lsn(1000));
  EXPECT_EQ(pipeline_->blocked_row()->xid, kXid);
  EXPECT_EQ(metrics_.events_received->Value(), 0);
}

TEST_F(PipelineTest, RowIsSkippedOnlyIfConfigured) {
  config_.on_error.null_route = OnError::kSkip;
  Start();
  Begin();
  ExpectHandled(Row("bad", std::nullopt));
  Insert("good");
  EXPECT_THAT(InFlight(), ElementsAre("good"));
  EXPECT_FALSE(pipeline_->blocked_row());
  EXPECT_EQ(pipeline_->events_in_transaction(), 1u);
  EXPECT_EQ(Skipped("WR-3003"), 1);
}

TEST_F(PipelineTest, DeadLetterIsAwaitedLikeAnyOtherRecord) {
  config_.on_error.topic = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Start();
  Begin();
  ExpectHandled(Row("bad", "no such topic!"));
  const Lsn end = Commit();
  ASSERT_EQ(kafka_.in_flight.size(), 1u);
  EXPECT_EQ(kafka_.in_flight[0].topic, "dead");
  EXPECT_EQ(kafka_.in_flight[0].headers.at("walrelay.code"), "WR-3005");
  EXPECT_EQ(frontier(), Lsn(1000));
  AcknowledgeAll();
  EXPECT_EQ(frontier(), end);
  EXPECT_EQ(metrics_.dead_letters["WR-3005"].Value(), 1);
}

TEST_F(PipelineTest, DeadLetterIsCountedOnlyWhenItsTopicExists) {
  config_.on_error.topic = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Start();
  Begin();
  const std::string row = Row("bad", "no such topic!");
  kafka_.pending_topics = {"dead"};
  EXPECT_THAT(Handle(row), IsOkAndHolds(Wait::kTopic));
  kafka_.pending_topics.clear();
  kafka_.bad_topics["dead"] = Error(ErrorCode::kTopicDenied, "dead");
  EXPECT_THAT(Handle(row), HasError(ErrorCode::kTopicDenied));
  EXPECT_TRUE(pipeline_->blocked_row());
  EXPECT_EQ(metrics_.dead_letters["WR-3005"].Value(), 0);
  kafka_.bad_topics.clear();
  ExpectHandled(row);
  EXPECT_EQ(metrics_.dead_letters["WR-3005"].Value(), 1);
}

// --- rows that are received again ---

TEST_F(PipelineTest, SettledRowsAreCountedAndNotSentAgain) {
  Start();
  sender_->SetSettledBefore(Position{Lsn(1000), Lsn(), 3});
  Begin();
  Insert("a");
  Insert("b");
  Insert("c");
  EXPECT_THAT(InFlight(), ElementsAre("c"));
  EXPECT_EQ(metrics_.events_received->Value(), 3);
}

class CutTransactionTest : public PipelineTest {
 protected:
  CutTransactionTest() { Start(); }
  // The server sends the same transaction again.
  void BeginAgain() {
    Reconnect();
    Describe();
    commit_ = Lsn(1000);
    Begin();
  }
  // `start`: of the row's WAL record.
  void InsertAt(uint64_t start, const std::string& key, uint32_t oid = kOutboxOid) {
    EXPECT_THAT(Handle(Row(key, "order", oid), Lsn(start)), IsOkAndHolds(Wait::kNone));
  }
};

// As after a change of the publication while the transaction ran.
TEST_F(CutTransactionTest, RowsOfAnotherTableMayBeMissingTheSecondTime) {
  Begin();
  InsertAt(10, "x", kOtherOid);
  InsertAt(20, "a");
  InsertAt(30, "b");
  BeginAgain();
  InsertAt(20, "a");
  InsertAt(30, "b");
  InsertAt(40, "c");
  InsertAt(50, "d");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b", "c", "d"));
}

TEST_F(CutTransactionTest, RowsOfAnotherTableMayAppearTheSecondTime) {
  Begin();
  InsertAt(20, "a");
  InsertAt(30, "b");
  BeginAgain();
  InsertAt(10, "x", kOtherOid);
  InsertAt(20, "a");
  InsertAt(25, "y", kOtherOid);
  InsertAt(30, "b");
  InsertAt(40, "c");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b", "c"));
}

TEST_F(CutTransactionTest, RowsOfOneRecordAreDistinguished) {
  Begin();
  InsertAt(20, "a");
  InsertAt(20, "b");
  BeginAgain();
  InsertAt(20, "a");
  InsertAt(20, "b");
  InsertAt(20, "c");
  InsertAt(30, "d");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b", "c", "d"));
}

TEST_F(CutTransactionTest, RowsOfTheProducerAreNotSentAgain) {
  Begin();
  Insert("a");
  Insert("b");
  BeginAgain();
  Insert("a");
  Insert("b");
  Insert("c");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b", "c"));
  const Lsn end = Commit();
  kafka_.Acknowledge(2);
  kafka_.Acknowledge(0);
  Poll();
  EXPECT_EQ(frontier(), Lsn(1000));  // "b" was produced in the first session
  AcknowledgeAll();
  EXPECT_EQ(frontier(), end);
}

TEST_F(CutTransactionTest, TransactionWithoutFurtherRowsIsConfirmed) {
  Begin();
  Insert("a");
  BeginAgain();
  Insert("a");
  const Lsn end = Commit();
  EXPECT_EQ(frontier(), Lsn(1000));
  AcknowledgeAll();
  EXPECT_EQ(frontier(), end);
}

TEST_F(CutTransactionTest, SecondCutMayComeEarlier) {
  Begin();
  Insert("a");
  Insert("b");
  BeginAgain();
  Insert("a");
  BeginAgain();
  Reconnect();
  BeginAgain();
  Insert("a");
  Insert("b");
  Insert("c");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b", "c"));
}

TEST_F(CutTransactionTest, SkippedRowIsNotLoggedAgain) {
  Begin();
  Insert("a");
  config_.on_error.null_key = OnError::kSkip;
  ExpectHandled(testing::InsertMessage(testing::kOutboxOid,
                                       testing::TextRow({"1", "order", std::nullopt, "{}"})));
  EXPECT_EQ(Skipped("WR-3004"), 1);
  BeginAgain();
  Insert("a");
  ExpectHandled(testing::InsertMessage(testing::kOutboxOid,
                                       testing::TextRow({"1", "order", std::nullopt, "{}"})));
  EXPECT_EQ(Skipped("WR-3004"), 1);
}

TEST_F(CutTransactionTest, RowsAreSentAgainIfTheProducerLostThem) {
  Begin();
  Insert("a");
  Reconnect();
  sender_->OnSinkDestroyed();
  kafka_.in_flight.clear();
  tracker_.Reset();
  BeginAgain();
  Insert("a");
  EXPECT_THAT(InFlight(), ElementsAre("a"));
}

TEST_F(CutTransactionTest, AcknowledgedRowsAreNotSentAgainByAnotherProducer) {
  Begin();
  Insert("a");
  AcknowledgeAll();
  Reconnect();
  sender_->OnSinkDestroyed();
  BeginAgain();
  Insert("a");
  Insert("b");
  EXPECT_THAT(InFlight(), ElementsAre("b"));
}

TEST_F(CutTransactionTest, RowsAreSentAgainOnAnotherTimeline) {
  Begin();
  Insert("a");
  AcknowledgeAll();
  Reconnect();
  sender_->ForgetPositions();
  BeginAgain();
  Insert("a");
  EXPECT_THAT(InFlight(), ElementsAre("a"));
}

class SingleStepPipelineTest : public PipelineTest {
 protected:
  // Rows "a", "b" and "c" were in flight when a broker refused "b". They are received again.
  SingleStepPipelineTest() {
    config_.on_error.refused = OnError::kSkip;
    config_.on_error.too_large = OnError::kSkip;
    Start();
    SendTransaction();
    sender_->StepThrough({Lsn(1000), Lsn(), 2});
    StartOver();
    Describe();
    commit_ = Lsn(1000);
    Begin();
    Insert("a");
  }
  void SendTransaction() {
    Begin();
    Insert("a");
    Insert("b");
    Insert("c");
    Commit();
  }
  // Row "b" is in flight, alone.
  void OfferAlone() {
    AcknowledgeAll();
    EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kReport));
    EXPECT_THAT(InFlight(), ElementsAre("b"));
  }
  void Refuse(ErrorCode code) {
    OfferAlone();
    kafka_.Refuse(0, Error(code, "outbox.event.order"));
    Poll();
    EXPECT_EQ(tracker_.records_in_flight(), 0u);
  }
};

TEST_F(SingleStepPipelineTest, RefusedRecordWaitsForTheRecordsInFlight) {
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kReport));
  EXPECT_THAT(InFlight(), ElementsAre("a"));
  OfferAlone();
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kReport));
  EXPECT_THAT(InFlight(), ElementsAre("b"));
}

TEST_F(SingleStepPipelineTest, RowIsHandledWhenItsRecordIsAcknowledged) {
  OfferAlone();
  AcknowledgeAll();
  Insert("b");
  EXPECT_THAT(InFlight(), IsEmpty());
  EXPECT_THAT(Handle(Row("c")), IsOkAndHolds(Wait::kReport));
  AcknowledgeAll();
  Insert("c");
  EXPECT_EQ(frontier(), Lsn(1000));
  const Lsn end = Commit();
  EXPECT_EQ(frontier(), end);
}

TEST_F(SingleStepPipelineTest, RefusalConcernsOnlyItsRow) {
  Refuse(ErrorCode::kDeliveryRefused);
  Insert("b");
  EXPECT_EQ(Skipped(ToString(ErrorCode::kDeliveryRefused)), 1);
  EXPECT_THAT(InFlight(), IsEmpty());
}

TEST_F(SingleStepPipelineTest, RecordTooLargeForABatchOfItsOwnIsATooLargeRow) {
  Refuse(ErrorCode::kBatchTooLarge);
  const std::string large(2'000, 'x');
  ExpectHandled(testing::InsertMessage(kOutboxOid, TextRow({"b", "order", "b", large})));
  EXPECT_EQ(Skipped(ToString(ErrorCode::kRecordTooLarge)), 1);
}

TEST_F(SingleStepPipelineTest, FailureOfTheProducerIsNotBlamedOnTheRecord) {
  Refuse(ErrorCode::kProducerFailed);
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kQueue));
  OfferAlone();
}

TEST_F(SingleStepPipelineTest, RangeEndsBehindTheLastRecordOffered) {
  OfferAlone();
  AcknowledgeAll();
  Insert("b");
  EXPECT_THAT(Handle(Row("c")), IsOkAndHolds(Wait::kReport));
  AcknowledgeAll();
  Insert("c");
  Insert("d");
  Insert("e");
  EXPECT_THAT(InFlight(), ElementsAre("d", "e"));
}

TEST_F(SingleStepPipelineTest, RangeBeforeTheFrontierIsDiscarded) {
  sender_->OnFrontier(Lsn(2000));
  Insert("b");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b"));
}

TEST_F(SingleStepPipelineTest, RangeOfAnotherTimelineIsDiscarded) {
  sender_->ForgetPositions();
  Insert("b");
  EXPECT_THAT(InFlight(), ElementsAre("a", "b"));
}

// The record may be a dead letter: its row is handled, and logged, only after the acknowledgement.
TEST_F(SingleStepPipelineTest, RecordInFlightIsOfferedAgainAfterTheConnectionWasLost) {
  OfferAlone();
  Reconnect();
  Describe();
  commit_ = Lsn(1000);
  Begin();
  Insert("a");
  EXPECT_THAT(Handle(Row("b")), IsOkAndHolds(Wait::kReport));
  OfferAlone();
}

TEST_F(SingleStepPipelineTest, RefusedRecordIsOfferedAgainAfterTheConnectionWasLost) {
  Refuse(ErrorCode::kDeliveryRefused);
  Reconnect();
  Describe();
  commit_ = Lsn(1000);
  Begin();
  Insert("a");
  OfferAlone();
}

TEST_F(SingleStepPipelineTest, SessionOffersTheRecordAgain) {
  OfferAlone();
  StartOver();
  Describe();
  Begin();
  Insert("a");
  OfferAlone();
}

}  // namespace
}  // namespace walrelay

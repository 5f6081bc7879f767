// Records that brokers reject: the row is named, on_error applies, and no other record is repeated.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakeRow;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class RefusedRecordsTest : public testing::RelayFixture {
 protected:
  RefusedRecordsTest() { kafka_.auto_acknowledge = true; }

  void Refuse(const std::string& key, ErrorCode code = ErrorCode::kDeliveryRefused) {
    kafka_.refused_keys[key] = Error(code, "outbox.event.order: refused");
  }
  static FakeRow Large(const std::string& key) {
    return {.type = "order", .key = key, .payload = std::string(5'000, 'x')};
  }
  std::map<std::string, int> Appended() const {
    std::map<std::string, int> times;
    for (const std::string& key : kafka_.Keys()) {
      ++times[key];
    }
    return times;
  }
};

TEST_F(RefusedRecordsTest, RefusedRowIsNamedAndLaterRowsAreNotProduced) {
  Refuse("bad");
  Start();
  const Lsn good = Commit("a");
  postgres_.Commit({Event("b"), Event("bad"), Event("c")});
  Commit("d");
  Pass(minutes(60));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kDeliveryRefused);
  EXPECT_THAT(board_.Read().detail, HasSubstr("table=public.outbox"));
  EXPECT_THAT(board_.Read().detail, HasSubstr("key=bad"));
  EXPECT_EQ(postgres_.confirmed(), good);
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

TEST_F(RefusedRecordsTest, RowStaysNamedWhileItsRecordIsRetried) {
  Refuse("bad");
  Start();
  Commit("bad");
  Pass(seconds(5));
  for (int i = 0; i < 300; ++i) {
    Pass(std::chrono::milliseconds(400));
    ASSERT_EQ(board_.Read().state, RelayState::kBlocked) << i;
    ASSERT_THAT(board_.Read().detail, HasSubstr("key=bad")) << i;
  }
  EXPECT_GT(kafka_.producers, 5);
  EXPECT_LT(kafka_.producers, 30);
}

TEST_F(RefusedRecordsTest, RowAcceptedLaterIsPublishedInOrder) {
  Refuse("bad");
  Start();
  postgres_.Commit({Event("a"), Event("bad"), Event("b")});
  Commit("c");
  Pass(minutes(3));
  kafka_.refused_keys.clear();
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "bad", "b", "c"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RefusedRecordsTest, OtherRecordsOfTheBatchAreNotBlamed) {
  config_.on_error.refused = OnError::kSkip;
  Refuse("bad");
  Start();
  postgres_.Commit({Event("a"), Event("bad"), Event("b"), Event("c")});
  Pass(seconds(10));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1), Pair("b", 1), Pair("c", 1)));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RefusedRecordsTest, DeadLetterReplacesARefusedRecord) {
  config_.on_error.refused = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Start();
  Refuse("bad");
  postgres_.Commit({Event("a"), Event("bad"), Event("b")});
  Pass(seconds(2));
  kafka_.refused_keys.clear();  // the dead letter has the same key
  Pass(seconds(40));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RefusedRecordsTest, RefusedDeadLetterBlocksAndRepeatsNothing) {
  config_.on_error.refused = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  Refuse("bad");
  Start();
  postgres_.Commit({Event("a"), Event("bad"), Event("b")});
  Pass(minutes(30));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_THAT(board_.Read().detail, HasSubstr("key=bad"));
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1)));
}

// Acknowledged records stay acknowledged when their transaction is read again from its BEGIN.
TEST_F(RefusedRecordsTest, BadRowsDoNotRepeatOtherRowsOfALongTransaction) {
  config_.on_error.refused = OnError::kSkip;
  Start();
  std::vector<FakeRow> rows;
  for (int i = 0; i < 40; ++i) {
    rows.push_back(Event(std::to_string(i)));
    if (i % 5 == 2) {
      Refuse(std::to_string(i));
    }
  }
  postgres_.Commit(rows);
  Pass(minutes(5));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  for (const auto& [key, times] : Appended()) {
    EXPECT_EQ(times, 1) << key;
  }
  EXPECT_EQ(Appended().size(), 32u);
}

TEST_F(RefusedRecordsTest, RefusedBatchIsFollowedBySmallerOnes) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  kafka_.Refuse(0, Error(ErrorCode::kBatchTooLarge, "order"));
  Run();
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(kafka_.request.max_batch_bytes, 250'000);
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RefusedRecordsTest, RecordTooLargeForItsTopicIsReportedAsATooLargeRow) {
  Refuse("big", ErrorCode::kBatchTooLarge);
  Start();
  Commit("a");
  postgres_.Commit({Event("b"), Large("big")});
  Pass(minutes(2));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kRecordTooLarge);
  EXPECT_THAT(board_.Read().detail, HasSubstr("key=big"));
  EXPECT_EQ(kafka_.request.max_batch_bytes, 1'000'000);  // the batch size was not the cause
}

TEST_F(RefusedRecordsTest, TooLargeRecordFollowsThePolicyForTooLarge) {
  config_.on_error.too_large = OnError::kSkip;
  Refuse("big", ErrorCode::kBatchTooLarge);
  Start();
  postgres_.Commit({Event("a"), Large("big"), Event("b")});
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

class SystemicRefusalTest : public RefusedRecordsTest,
                            public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(SystemicRefusalTest, BlocksUnderEveryPolicy) {
  config_.on_error = {.null_route = OnError::kSkip,
                      .null_key = OnError::kSkip,
                      .topic = OnError::kSkip,
                      .too_large = OnError::kSkip,
                      .value = OnError::kSkip,
                      .refused = OnError::kSkip};
  Refuse("x", GetParam());
  Start();
  postgres_.Commit({Event("a"), Event("x"), Event("b")});
  Pass(minutes(60));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), GetParam());
  EXPECT_THAT(board_.Read().detail, HasSubstr("key=x"));
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1)));
  kafka_.refused_keys.clear();
  Pass(minutes(1));
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1), Pair("b", 1), Pair("x", 1)));
}

INSTANTIATE_TEST_SUITE_P(Codes, SystemicRefusalTest,
                         ::testing::Values(ErrorCode::kTopicDenied, ErrorCode::kTopicRefuses,
                                           ErrorCode::kRecordTimeRefused),
                         [](const auto& each) { return std::string(Describe(each.param).name); });

TEST_F(RefusedRecordsTest, BlockingRowIsNamedAgainAfterALostConnection) {
  Refuse("bad");
  Start();
  postgres_.Commit({Event("a"), Event("bad"), Event("b")});
  Pass(seconds(30));
  postgres_.BreakConnection();
  Pass(minutes(2));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_THAT(board_.Read().detail, HasSubstr("key=bad"));
  EXPECT_THAT(Appended(),
              ElementsAre(Pair("a", ::testing::Le(3))));  // one more repetition for the fault
}

TEST_F(RefusedRecordsTest, RepeatedFailureAtOneRecordStopsRepeatingTheOthers) {
  Refuse("bad", ErrorCode::kProducerFailed);
  Start();
  Commit("a");
  postgres_.Commit({Event("b"), Event("bad"), Event("c")});
  Pass(minutes(60));
  EXPECT_THAT(Appended(), ElementsAre(Pair("a", 1), Pair("b", 1)));
  EXPECT_EQ(State(), RelayState::kDegraded);
  kafka_.refused_keys.clear();
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RefusedRecordsTest, IdleProducerThatFailsIsReplacedWithinTheSession) {
  Start();
  Commit("a");
  Pass(seconds(1));
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  Pass(seconds(2));
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_EQ(postgres_.starts.size(), 1u);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RefusedRecordsTest, StuckPartitionDoesNotRewindTheOthers) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("stuck");
  Run();
  for (int i = 0; i < 20; ++i) {
    Commit(std::to_string(i));
    Pass(milliseconds(5));  // not at once: an earlier record is not acknowledged
    kafka_.Acknowledge(1);
    Pass(minutes(1));
  }
  EXPECT_EQ(kafka_.producers, 1);
  EXPECT_EQ(kafka_.log.size(), 20u);
}

TEST_F(RefusedRecordsTest, OutdatedProducerIsReplacedWhenNothingIsInFlight) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  kafka_.outdated = true;
  Commit("b");
  Pass(seconds(5));
  EXPECT_EQ(kafka_.producers, 1);
  EXPECT_EQ(kafka_.in_flight.size(), 1u);  // no new record is produced
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_EQ(postgres_.starts.size(), 1u);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RefusedRecordsTest, OutdatedProducerThatDeliversNothingIsAbandoned) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  kafka_.outdated = true;
  Pass(seconds(40));
  EXPECT_EQ(kafka_.producers, 2);
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RefusedRecordsTest, IdleProducerThatFindsNoTopicIsReplacedWhereAnotherClientDoes) {
  Start();
  kafka_.pending_topics = {"outbox.event.order"};
  kafka_.brokers = Error(ErrorCode::kKafkaUnreachable, "refused");
  Commit("a");
  Pass(minutes(10));
  EXPECT_EQ(kafka_.producers, 1);
  kafka_.brokers = absl::OkStatus();
  Pass(minutes(3));
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_EQ(postgres_.starts.size(), 1u);
  kafka_.pending_topics.clear();
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

}  // namespace
}  // namespace walrelay

#include "publish/row_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeKafka;
using ::testing::IsEmpty;

class RowQueueTest : public ::testing::Test {
 protected:
  RowQueue& queue() {
    if (queue_ == nullptr) {
      RowQueue::Options options;
      options.on_refused = [this](const RowQueue::Refusal& refusal) {
        ended_.insert(refusal.number);
      };
      options.on_published = [this](uint64_t number) { ended_.insert(number); };
      options.filter = [this](const OutboxRow&, const Record&) { return ++filtered_ > 0; };
      queue_ = *RowQueue::Create(config_, kafka_.Factory(), clock_, metrics_, options);
      EXPECT_TRUE(queue_->UseTables(
          std::vector<TableInfo>{{.schema = "public", .name = "outbox", .oid = 7}},
          std::vector<pgoutput::CachedRelation>{relation_}));
    }
    return *queue_;
  }

  // A row whose key and id are both its number, so that a refusal by key names one row.
  absl::Status Push() {
    const std::string id = std::to_string(pushed_++);
    const std::vector<std::string> texts = {id, "t", id, "payload"};
    std::vector<pgoutput::TupleValue> values;
    for (const std::string& text : texts) {
      values.push_back({.kind = pgoutput::TupleValue::Kind::kText, .bytes = text});
    }
    return queue().Push({.relation = relation_, .values = values, .xid = 700});
  }

  absl::Status Turn() {
    clock_.Advance(std::chrono::milliseconds(100));
    return queue().Turn();
  }
  // Acknowledges everything until nothing is held.
  void Finish() {
    for (int turns = 0; !queue().empty(); ++turns) {
      ASSERT_LT(turns, 10'000) << "the queue never ends";
      kafka_.AcknowledgeAll();
      ASSERT_THAT(Turn(), IsOk());
    }
  }

  Config config_;
  FakeKafka kafka_;
  FakeClock clock_;
  testing::SoleMetrics metrics_;
  std::multiset<uint64_t> ended_;  // the numbers that a callback has named
  uint64_t pushed_ = 0;
  uint64_t filtered_ = 0;

 private:
  const pgoutput::CachedRelation relation_{.oid = 7,
                                           .schema = "public",
                                           .name = "outbox",
                                           .columns = {{"id", pgoutput::kInt8Oid},
                                                       {"aggregate_type", pgoutput::kTextOid},
                                                       {"aggregate_id", pgoutput::kTextOid},
                                                       {"payload", pgoutput::kTextOid}}};
  std::unique_ptr<RowQueue> queue_;
};

TEST_F(RowQueueTest, RowIsOfferedWhenItIsPushed) {
  ASSERT_THAT(Push(), IsOk());
  EXPECT_TRUE(queue().all_offered());
  EXPECT_FALSE(queue().empty());
  EXPECT_EQ(kafka_.in_flight.size(), 1U);
  Finish();
  EXPECT_THAT(ended_, ElementsAre(0));
}

TEST_F(RowQueueTest, RowThatWaitsHoldsBackThoseBehindIt) {
  kafka_.pending_topics.insert("outbox.event.t");
  ASSERT_THAT(Push(), IsOk());
  ASSERT_THAT(Push(), IsOk());
  EXPECT_FALSE(queue().all_offered());
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  kafka_.pending_topics.clear();
  ASSERT_THAT(Turn(), IsOk());
  EXPECT_TRUE(queue().all_offered());
  EXPECT_EQ(kafka_.in_flight.size(), 2U);
}

TEST_F(RowQueueTest, AcknowledgedRowIsNotSentAgainAfterAFailure) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(Push(), IsOk());
  }
  kafka_.Acknowledge(1);
  ASSERT_THAT(Turn(), IsOk());
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  ASSERT_THAT(Turn(), IsOk());
  EXPECT_THAT(queue().trouble(), HasError(ErrorCode::kProducerFailed));
  EXPECT_TRUE(queue().retry_at().has_value());
  Finish();
  EXPECT_THAT(kafka_.Keys(), ElementsAre("1", "0", "2"));
}

// A sink fails as a whole before the record is reported that the brokers refused.
TEST_F(RowQueueTest, RefusalThatIsReportedAfterTheFailureIsFound) {
  config_.on_error.refused = OnError::kSkip;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(Push(), IsOk());
  }
  kafka_.reports_late = true;
  kafka_.refused_keys["1"] = Error(ErrorCode::kDeliveryRefused, "no");
  kafka_.auto_acknowledge = true;
  for (int turns = 0; !queue().empty(); ++turns) {
    ASSERT_LT(turns, 100) << "the refused row is not found";
    ASSERT_THAT(Turn(), IsOk());
  }
  EXPECT_THAT(kafka_.Keys(), ElementsAre("0", "2"));
  EXPECT_EQ(queue().counts().skipped, 1U);
}

TEST_F(RowQueueTest, ReportsThatNeverArriveAreNotAwaitedForLong) {
  ASSERT_THAT(Push(), IsOk());
  kafka_.reports_late = true;
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  for (int turns = 0; kafka_.producers < 2; ++turns) {
    ASSERT_LT(turns, 100) << "the sink is never replaced";
    ASSERT_THAT(Turn(), IsOk());
  }
  Finish();
  EXPECT_THAT(kafka_.Keys(), ElementsAre("0"));
}

TEST_F(RowQueueTest, FilterIsAskedOnceForARowThatIsOfferedAgain) {
  ASSERT_THAT(Push(), IsOk());
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  ASSERT_THAT(Turn(), IsOk());
  Finish();
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_EQ(filtered_, 1U);
}

TEST_F(RowQueueTest, RowBehindOneThatStopsIsDropped) {
  kafka_.refused_keys["1"] = Error(ErrorCode::kDeliveryRefused, "no");
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(Push(), IsOk());
  }
  absl::Status error;
  for (int turns = 0; error.ok() && turns < 100; ++turns) {
    error = Turn();
  }
  EXPECT_THAT(error, HasError(ErrorCode::kDeliveryRefused, "row id=1 key=1 of public.outbox"));
  Finish();
  EXPECT_THAT(kafka_.Keys(), ElementsAre("0"));
}

// Whatever happens to sinks and records: each row ends once, in order, and none is missing.
TEST_F(RowQueueTest, EachRowEndsOnceWhateverFails) {
  config_.on_error.refused = OnError::kSkip;
  config_.pipeline.max_in_flight_records = 20;
  std::mt19937 random(1);
  const auto chance = [&random](int percent) { return static_cast<int>(random() % 100) < percent; };
  std::set<std::string> refused;
  for (int step = 0; step < 20'000; ++step) {
    if (queue().has_room() && chance(60)) {
      if (chance(5)) {
        refused.insert(std::to_string(pushed_));
        kafka_.refused_keys[std::to_string(pushed_)] = Error(ErrorCode::kDeliveryRefused, "no");
      }
      ASSERT_THAT(Push(), IsOk());
    } else if (!kafka_.in_flight.empty() && chance(50) &&
               !refused.contains(*kafka_.in_flight.front().key)) {
      kafka_.Acknowledge(0);
    } else if (chance(3)) {
      kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
    } else if (chance(5)) {
      kafka_.bad_topics["outbox.event.t"] = Error(ErrorCode::kTopicUnknown, "outbox.event.t");
    } else {
      kafka_.bad_topics.clear();
      ASSERT_THAT(Turn(), IsOk());
    }
  }
  kafka_.bad_topics.clear();
  kafka_.auto_acknowledge = true;
  for (int turns = 0; !queue().empty(); ++turns) {
    ASSERT_LT(turns, 10'000) << "the queue never ends";
    ASSERT_THAT(Turn(), IsOk());
  }
  EXPECT_EQ(ended_.size(), pushed_);
  EXPECT_EQ(std::set<uint64_t>(ended_.begin(), ended_.end()).size(), pushed_);
  uint64_t last = 0;
  std::set<std::string> seen;
  for (const std::string& key : kafka_.Keys()) {
    EXPECT_FALSE(refused.contains(key));
    if (seen.insert(key).second) {
      EXPECT_GE(std::stoull(key), last) << "first appearances are in the order of the rows";
      last = std::stoull(key);
    }
  }
  EXPECT_EQ(seen.size() + refused.size(), pushed_);
  EXPECT_EQ(queue().counts().published, seen.size());
  EXPECT_EQ(queue().counts().skipped, refused.size());
}

}  // namespace
}  // namespace walrelay

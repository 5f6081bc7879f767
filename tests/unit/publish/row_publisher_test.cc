#include "publish/row_publisher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeKafka;
using ::testing::IsEmpty;
using Counts = RowPublisher::Counts;

class RowPublisherTest : public ::testing::Test {
 protected:
  RowPublisherTest() {
    relation_ = {.oid = 7,
                 .schema = "public",
                 .name = "outbox",
                 .columns = {{"id", pgoutput::kInt8Oid},
                             {"aggregate_type", pgoutput::kTextOid},
                             {"aggregate_id", pgoutput::kTextOid},
                             {"payload", pgoutput::kTextOid}}};
    kafka_.auto_acknowledge = true;
    options_.on_refused = [this](const RowPublisher::Refusal& refusal) {
      refused_.push_back(fmt::format("{} {}", refusal.row, ToString(CodeOf(refusal.reason))));
    };
    options_.wait = [this](int, Micros timeout) {
      clock_.Advance(timeout);
      if (on_wait_) {
        on_wait_();
      }
    };
  }

  RowPublisher& publisher() {
    if (publisher_ == nullptr) {
      publisher_ = *RowPublisher::Create(config_, kafka_.Factory(), clock_, options_);
      publisher_->UseTables(
          std::vector<TableInfo>{{.schema = "public", .name = "outbox", .oid = 7}},
          std::vector<pgoutput::CachedRelation>{relation_});
    }
    return *publisher_;
  }

  // The row's values do not outlive the call.
  absl::Status Publish(const std::string& key, const std::string& topic = "t") {
    const std::string id = std::to_string(++id_);
    const std::vector<std::string> texts = {id, topic, key, "payload of " + key};
    std::vector<pgoutput::TupleValue> values;
    for (const std::string& text : texts) {
      values.push_back({.kind = pgoutput::TupleValue::Kind::kText, .bytes = text});
    }
    return publisher().Publish({.relation = relation_, .values = values, .xid = 700});
  }

  void PublishAll(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      ASSERT_THAT(Publish(key), IsOk());
    }
  }

  Config config_;
  FakeKafka kafka_;
  FakeClock clock_;
  RowPublisher::Options options_;
  std::function<void()> on_wait_;
  pgoutput::CachedRelation relation_;
  std::vector<std::string> refused_;
  std::unique_ptr<RowPublisher> publisher_;
  int id_ = 0;
};

TEST_F(RowPublisherTest, RecordsAreThoseOfTheRouterWithTheHeaders) {
  options_.headers = {{"walrelay.republished", "run"}};
  PublishAll({"a", "b"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(kafka_.log[1].topic, "outbox.event.t");
  EXPECT_EQ(kafka_.log[1].value, "payload of b");
  EXPECT_EQ(kafka_.log[1].headers["id"], "2");
  EXPECT_EQ(kafka_.log[1].headers["walrelay.republished"], "run");
  EXPECT_EQ(publisher().counts(), Counts{.published = 2});
}

TEST_F(RowPublisherTest, RowsCountAsPublishedWhenTheyAreAcknowledged) {
  kafka_.auto_acknowledge = false;
  PublishAll({"a", "b"});
  EXPECT_EQ(publisher().counts().published, 0U);
  on_wait_ = [this] { kafka_.AcknowledgeAll(); };
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(publisher().counts().published, 2U);
}

TEST_F(RowPublisherTest, OtherTopicReplacesTheRows) {
  options_.topic = "replay";
  PublishAll({"a"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(kafka_.log[0].topic, "replay");
}

TEST_F(RowPublisherTest, FilteredRowsAreNotPublished) {
  options_.filter = [](const OutboxRow&, const Record& record) { return record.key != "b"; };
  PublishAll({"a", "b", "c"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "c"));
  EXPECT_EQ(publisher().counts(), (Counts{.published = 2, .filtered = 1}));
}

TEST_F(RowPublisherTest, WindowLimitsTheRecordsInFlight) {
  config_.pipeline.max_in_flight_records = 3;
  kafka_.auto_acknowledge = false;
  size_t most = 0;
  on_wait_ = [&] {
    most = std::max(most, kafka_.in_flight.size());
    kafka_.Acknowledge(0);
  };
  PublishAll({"a", "b", "c", "d", "e", "f"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(kafka_.log.size(), 6U);
}

TEST_F(RowPublisherTest, WindowLimitsTheBytesInFlight) {
  config_.pipeline.max_in_flight_bytes = 1;
  kafka_.auto_acknowledge = false;
  on_wait_ = [&] {
    EXPECT_EQ(kafka_.in_flight.size(), 1U);
    kafka_.Acknowledge(0);
  };
  PublishAll({"a", "b", "c"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(kafka_.log.size(), 3U);
}

TEST_F(RowPublisherTest, RateLimitsTheRowsOfEachSecond) {
  options_.rows_per_second = 100;
  const MonoTime start = clock_.Now();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(Publish("k"), IsOk());
    const auto elapsed = std::chrono::duration<double>(clock_.Now() - start).count();
    ASSERT_LE(i, 100 * elapsed + 6) << "at most 50 ms of the rate at once";
  }
  EXPECT_GE(clock_.Now() - start, std::chrono::seconds(9));
}

TEST_F(RowPublisherTest, RowThatStopsIsNamedAndRowsBeforeItArePublished) {
  PublishAll({"a"});
  const absl::Status error = Publish("b", "no topic");
  EXPECT_THAT(error, HasError(ErrorCode::kTopicInvalid, "row id=2 key=b of public.outbox"));
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RowPublisherTest, SkippedRowIsReported) {
  config_.on_error.topic = OnError::kSkip;
  ASSERT_THAT(Publish("a", "no topic"), IsOk());
  PublishAll({"b"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("b"));
  EXPECT_THAT(refused_, ElementsAre("id=1 key=a WR-3005"));
  EXPECT_EQ(publisher().counts(), (Counts{.published = 1, .skipped = 1}));
}

TEST_F(RowPublisherTest, DeadLetterTakesTheRowsPlace) {
  config_.on_error.topic = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  options_.headers = {{"mark", "1"}};
  PublishAll({"a"});
  ASSERT_THAT(Publish("b", "no topic"), IsOk());
  PublishAll({"c"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(kafka_.log[1].topic, "dead");
  EXPECT_EQ(kafka_.log[1].headers["walrelay.code"], "WR-3005");
  EXPECT_EQ(kafka_.log[1].headers["mark"], "1");
  EXPECT_THAT(refused_, ElementsAre("id=2 key=b WR-3005"));
  EXPECT_EQ(publisher().counts(), (Counts{.published = 2, .dead_letters = 1}));
}

TEST_F(RowPublisherTest, RefusedRecordIsFoundAndTheOthersArePublished) {
  config_.on_error.refused = OnError::kSkip;
  kafka_.refused_keys["b"] = Error(ErrorCode::kDeliveryRefused, "no");
  PublishAll({"a", "b", "c"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "c"));
  EXPECT_THAT(refused_, ElementsAre("id=2 key=b WR-4003"));
  EXPECT_EQ(publisher().counts(), (Counts{.published = 2, .skipped = 1}));
}

TEST_F(RowPublisherTest, RefusedRecordBecomesADeadLetter) {
  config_.on_error.refused = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  kafka_.refused_keys["b"] = Error(ErrorCode::kDeliveryRefused, "no");
  PublishAll({"a", "b"});
  on_wait_ = [this] {
    if (!kafka_.in_flight.empty() && kafka_.in_flight[0].topic == "dead") {
      kafka_.refused_keys.clear();  // the topic for dead letters accepts the key
    }
  };
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(kafka_.log.back().topic, "dead");
  EXPECT_THAT(refused_, ElementsAre("id=2 key=b WR-4003"));
  EXPECT_EQ(publisher().counts(), (Counts{.published = 1, .dead_letters = 1}));
}

TEST_F(RowPublisherTest, RefusedDeadLetterStopsTheRun) {
  config_.on_error.refused = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  kafka_.refused_keys["b"] = Error(ErrorCode::kDeliveryRefused, "no");
  PublishAll({"a", "b", "c"});
  EXPECT_THAT(publisher().Finish(), HasError(ErrorCode::kDeliveryRefused, "id=2"));
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
  EXPECT_THAT(refused_, IsEmpty());
}

TEST_F(RowPublisherTest, RefusedRecordStopsBeforeTheRowsBehindIt) {
  kafka_.refused_keys["b"] = Error(ErrorCode::kDeliveryRefused, "no");
  PublishAll({"a", "b", "c"});
  const absl::Status error = publisher().Finish();
  EXPECT_THAT(error, HasError(ErrorCode::kDeliveryRefused, "id=2"));
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RowPublisherTest, SmallerBatchesFollowARefusedBatch) {
  config_.kafka.max_batch_bytes = 100'000;
  kafka_.refused_keys["b"] = Error(ErrorCode::kBatchTooLarge, "batch");
  PublishAll({"a", "b", "c"});
  on_wait_ = [this] {
    if (kafka_.producers == 2) {
      EXPECT_LT(kafka_.request.max_batch_bytes, 100'000);
      kafka_.refused_keys.clear();
    }
  };
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "c"));
}

TEST_F(RowPublisherTest, RecordThatIsRefusedForItsSizeAloneIsNotABatch) {
  kafka_.refused_keys["b"] = Error(ErrorCode::kBatchTooLarge, "batch");
  PublishAll({"a", "b", "c"});
  EXPECT_THAT(publisher().Finish(), HasError(ErrorCode::kTopicRefuses))
      << "no row of 16 bytes is too large";
}

TEST_F(RowPublisherTest, FailedProducerIsReplacedAndKeysKeepTheirOrder) {
  kafka_.auto_acknowledge = false;
  PublishAll({"a", "b", "c"});
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  on_wait_ = [this] { kafka_.auto_acknowledge = true; };
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(refused_, IsEmpty());
}

TEST_F(RowPublisherTest, TopicThatIsCreatedMeanwhileIsUsed) {
  kafka_.bad_topics["outbox.event.t"] = Error(ErrorCode::kTopicUnknown, "outbox.event.t");
  on_wait_ = [this] { kafka_.bad_topics.clear(); };
  PublishAll({"a"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RowPublisherTest, PatienceEndsWithTheReason) {
  kafka_.bad_topics["outbox.event.t"] = Error(ErrorCode::kTopicUnknown, "outbox.event.t");
  const absl::Status error = Publish("a");
  EXPECT_THAT(error, HasError(ErrorCode::kTopicUnknown, "id=1"));
}

TEST_F(RowPublisherTest, BrokersThatDoNotAnswerEndTheRun) {
  kafka_.auto_acknowledge = false;
  PublishAll({"a"});
  EXPECT_THAT(publisher().Finish(), HasError(ErrorCode::kKafkaStalled));
}

TEST_F(RowPublisherTest, ProducersThatAlwaysFailEndTheRun) {
  kafka_.auto_acknowledge = false;
  PublishAll({"a"});
  kafka_.health = Error(ErrorCode::kProducerFailed, "no");
  on_wait_ = [this] { kafka_.health = Error(ErrorCode::kProducerFailed, "no"); };
  EXPECT_FALSE(publisher().Finish().ok());
}

TEST_F(RowPublisherTest, RunEndsIfNoProducerCanBeCreated) {
  kafka_.auto_acknowledge = false;
  PublishAll({"a"});
  kafka_.health = Error(ErrorCode::kProducerFailed, "no");
  kafka_.factory_error = Error(ErrorCode::kSecretFile, "gone");
  EXPECT_THAT(publisher().Finish(), HasError(ErrorCode::kSecretFile));
  EXPECT_THAT(publisher().Finish(), HasError(ErrorCode::kSecretFile));
  EXPECT_THAT(Publish("b"), HasError(ErrorCode::kSecretFile));
}

TEST_F(RowPublisherTest, NumbersOfPublishedAndRefusedRowsAreThoseOfTheCalls) {
  std::vector<std::string> events;
  options_.on_published = [&](uint64_t number) { events.push_back(fmt::format("+{}", number)); };
  options_.on_refused = [&](const RowPublisher::Refusal& refusal) {
    events.push_back(fmt::format("-{}", refusal.number));
  };
  options_.policy = [](const absl::Status&) { return OnError::kSkip; };
  kafka_.refused_keys["c"] = Error(ErrorCode::kDeliveryRefused, "no");
  PublishAll({"a"});
  ASSERT_THAT(Publish("b", "no topic"), IsOk());
  PublishAll({"c", "d"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(events, ElementsAre("-1", "+0", "-2", "+3"));
}

TEST_F(RowPublisherTest, PausesLongerThanThePatienceAreNoFailure) {
  PublishAll({"a"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  clock_.Advance(std::chrono::hours(1));
  PublishAll({"b"});
  ASSERT_THAT(publisher().Finish(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace walrelay

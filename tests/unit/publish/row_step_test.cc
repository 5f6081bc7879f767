#include "publish/row_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Refusal() {
  return Error(ErrorCode::kDeliveryRefused, "the broker does not want it");
}

Config WithDeadLetters() {
  Config config;
  config.on_error.dead_letter_topic = "letters";
  return config;
}

// A step of one row of a table, with a sink that answers as the test says.
class RowStepTest : public ::testing::Test, private RowAudit {
 protected:
  RowStepTest() : router_(*Router::Create(config_, /*run_id=*/"")) {
    router_.StartSession(std::vector<TableInfo>{{.schema = "public", .name = "outbox", .oid = 7}});
    EXPECT_TRUE(router_.OnRelation(relation_));
    for (const std::string& text : texts_) {
      values_.push_back({.kind = pgoutput::TupleValue::Kind::kText, .bytes = text});
    }
  }

  absl::StatusOr<Wait> Offer() { return step_.Offer(row(), state_, send()); }
  absl::StatusOr<Wait> GiveUp(const absl::Status& reason) {
    return step_.GiveUp(row(), state_, reason, send());
  }

  OfferedRow row() const {
    return {.relation = relation_, .values = values_, .commit_time = std::nullopt, .position = {}};
  }
  // The next of `answers_`, and acceptance behind the last one.
  std::function<absl::StatusOr<Offered>(const Record&)> send() {
    return [this](const Record& record) -> absl::StatusOr<Offered> {
      sent_.emplace_back(record.topic);
      if (answers_.empty()) {
        return Wait::kNone;
      }
      const absl::StatusOr<Offered> answer = answers_.front();
      answers_.pop_front();
      return answer;
    };
  }

  const Config config_ = WithDeadLetters();
  testing::SoleMetrics metrics_;
  OnError policy_ = OnError::kStop;
  bool has_room_ = true;
  std::deque<absl::StatusOr<Offered>> answers_;
  std::vector<std::string> sent_;     // topics of the records that were offered
  std::vector<std::string> audited_;  // the policy and the code of each row that was given up
  RowState state_;

 private:
  bool HasRoom() override { return has_room_; }
  void OnGivenUp(const GivenUpRow& given_up) override {
    audited_.push_back((given_up.policy == OnError::kSkip ? "skip " : "letter ") +
                       ToString(CodeOf(given_up.reason)));
  }

  const pgoutput::CachedRelation relation_{.oid = 7,
                                           .schema = "public",
                                           .name = "outbox",
                                           .columns = {{"id", pgoutput::kInt8Oid},
                                                       {"aggregate_type", pgoutput::kTextOid},
                                                       {"aggregate_id", pgoutput::kTextOid},
                                                       {"payload", pgoutput::kTextOid}}};
  const std::vector<std::string> texts_{"1", "orders", "key", "payload"};
  std::vector<pgoutput::TupleValue> values_;
  Router router_;
  RowStep step_{config_, router_, [this](const absl::Status&) { return policy_; }, *this, metrics_};
};

TEST_F(RowStepTest, AcceptedRowHasNoLineInTheAudit) {
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(sent_, ElementsAre("outbox.event.orders"));
  EXPECT_THAT(audited_, IsEmpty());
}

TEST_F(RowStepTest, RowThatWaitsIsOfferedAgain) {
  answers_ = {Wait::kTopic, Wait::kQueue};
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kTopic));
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kQueue));
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_EQ(sent_.size(), 3U);
}

TEST_F(RowStepTest, ErrorOfTheProducerIsNotDecidedByThePolicy) {
  policy_ = OnError::kSkip;
  answers_ = {Error(ErrorCode::kProducerFailed, "fenced")};
  EXPECT_THAT(Offer(), HasError(ErrorCode::kProducerFailed));
  EXPECT_THAT(audited_, IsEmpty());
  EXPECT_TRUE(state_.refusal.ok());
}

TEST_F(RowStepTest, RowThatStopsIsSentAgainAtTheNextAttempt) {
  answers_ = {Refusal()};
  EXPECT_THAT(Offer(), HasError(ErrorCode::kDeliveryRefused));
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(sent_, ElementsAre("outbox.event.orders", "outbox.event.orders"));
  EXPECT_THAT(audited_, IsEmpty());
}

TEST_F(RowStepTest, SkippedRowHasOneLine) {
  policy_ = OnError::kSkip;
  answers_ = {Refusal()};
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  const std::string code = ToString(ErrorCode::kDeliveryRefused);
  EXPECT_THAT(audited_, ElementsAre("skip " + code));
  EXPECT_EQ(metrics_.events_skipped[code].Value(), 1);
}

TEST_F(RowStepTest, RowWaitsForRoomInTheAuditAndIsNotSentMeanwhile) {
  policy_ = OnError::kSkip;
  has_room_ = false;
  answers_ = {Refusal()};
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kLog));
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kLog));
  EXPECT_EQ(sent_.size(), 1U);
  has_room_ = true;
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_EQ(sent_.size(), 1U);
  EXPECT_EQ(audited_.size(), 1U);
}

TEST_F(RowStepTest, DeadLetterTakesTheRowsPlaceAndIsAuditedWhenItIsAccepted) {
  policy_ = OnError::kDeadLetter;
  answers_ = {Refusal(), Wait::kQueue};
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kQueue));
  EXPECT_THAT(audited_, IsEmpty());
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(sent_, ElementsAre("outbox.event.orders", "letters", "letters"));
  EXPECT_THAT(audited_, ElementsAre("letter " + ToString(ErrorCode::kDeliveryRefused)));
}

// The letter is lost with its sink, and is offered to the next one.
TEST_F(RowStepTest, DeadLetterThatIsOfferedAgainIsAuditedOnce) {
  policy_ = OnError::kDeadLetter;
  answers_ = {Refusal()};
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(Offer(), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(sent_, ElementsAre("outbox.event.orders", "letters", "letters"));
  EXPECT_EQ(audited_.size(), 1U);
}

TEST_F(RowStepTest, RefusedDeadLetterIsAnErrorAndNotAudited) {
  policy_ = OnError::kDeadLetter;
  answers_ = {Refusal(), Error(ErrorCode::kRecordTooLarge, "")};
  EXPECT_THAT(Offer(), HasError(ErrorCode::kRecordTooLarge));
  EXPECT_THAT(audited_, IsEmpty());
}

TEST_F(RowStepTest, RowThatWasRefusedElsewhereIsGivenUpForThatReason) {
  policy_ = OnError::kSkip;
  EXPECT_THAT(GiveUp(Error(ErrorCode::kRecordTooLarge, "")), IsOkAndHolds(Wait::kNone));
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(audited_, ElementsAre("skip " + ToString(ErrorCode::kRecordTooLarge)));
}

}  // namespace
}  // namespace walrelay

// The demo must detect lost, disordered, damaged and phantom events.
#include "demo/expected_events.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

class ExpectedEventsTest : public ::testing::Test {
 protected:
  // The next event of the key.
  ExpectedEvent Event(const std::string& key) {
    return {.id = "id" + std::to_string(++ids_),
            .aggregate_type = "order",
            .aggregate_id = key,
            .event_type = "OrderPlaced",
            .number = expected_.NextNumber(key)};
  }
  // Commits the next event of the key; returns the record expected in Kafka.
  StoredRecord Commit(const std::string& key) {
    const ExpectedEvent event = Event(key);
    expected_.Committed({event});
    return RecordOf(event);
  }
  static StoredRecord RecordOf(const ExpectedEvent& event) {
    return {.topic = "t",
            .key = event.aggregate_id,
            .value = PayloadOf(event),
            .headers = {{"id", event.id}, {"event_type", event.event_type}}};
  }
  Verdict Verify(const std::vector<StoredRecord>& records) const {
    return expected_.Verify(records);
  }

  ExpectedEvents expected_;

 private:
  int ids_ = 0;
};

TEST_F(ExpectedEventsTest, CommittedAndStoredEventsAreGood) {
  const auto a1 = Commit("a");
  const auto b1 = Commit("b");
  const auto a2 = Commit("a");
  const Verdict verdict = Verify({b1, a1, a2});
  EXPECT_TRUE(verdict.good());
  EXPECT_EQ(verdict.committed, 3u);
  EXPECT_EQ(verdict.keys, 2u);
  EXPECT_EQ(verdict.records, 3u);
}

// A demonstration without events proves nothing.
TEST_F(ExpectedEventsTest, RunWithoutEventsIsNotGood) {
  EXPECT_FALSE(Verify({}).good());
}

TEST_F(ExpectedEventsTest, MissingEventIsLost) {
  const auto a1 = Commit("a");
  Commit("a");
  EXPECT_EQ(Verify({a1}).lost, 1u);
  EXPECT_FALSE(Verify({a1}).good());
}

TEST_F(ExpectedEventsTest, DuplicatesAreCountedAndAllowed) {
  const auto a1 = Commit("a");
  const auto a2 = Commit("a");
  const Verdict verdict = Verify({a1, a2, a1, a2});
  EXPECT_EQ(verdict.duplicates, 2u);
  EXPECT_TRUE(verdict.good());
}

TEST_F(ExpectedEventsTest, DuplicateDoesNotReplaceALostEvent) {
  const auto a1 = Commit("a");
  Commit("a");
  EXPECT_EQ(Verify({a1, a1}).lost, 1u);
}

TEST_F(ExpectedEventsTest, LaterEventOfAKeyBeforeAnEarlierOneIsDisorder) {
  const auto a1 = Commit("a");
  const auto a2 = Commit("a");
  EXPECT_GT(Verify({a2, a1}).disordered, 0u);
  EXPECT_FALSE(Verify({a2, a1}).good());
}

TEST_F(ExpectedEventsTest, RolledBackEventIsAPhantom) {
  const ExpectedEvent event = Event("a");
  expected_.RolledBack(1);
  const auto a1 = Commit("a");
  const Verdict verdict = Verify({RecordOf(event), a1});
  EXPECT_EQ(verdict.phantoms, 1u);
  EXPECT_EQ(verdict.rolled_back, 1u);
  EXPECT_FALSE(verdict.good());
}

TEST_F(ExpectedEventsTest, RecordWithoutAnIdIsAPhantom) {
  auto a1 = Commit("a");
  a1.headers = {{"id", std::nullopt}};
  EXPECT_EQ(Verify({a1}).phantoms, 1u);
  a1.headers.clear();
  EXPECT_EQ(Verify({a1}).phantoms, 1u);
  EXPECT_EQ(Verify({a1}).lost, 1u);
}

TEST_F(ExpectedEventsTest, AnyDifferenceToTheCommittedEventIsDamage) {
  const auto good = Commit("a");
  auto key = good;
  key.key = "b";
  auto value = good;
  value.value->push_back(' ');
  auto tombstone = good;
  tombstone.value.reset();
  auto header = good;
  header.headers[1].second = "OrderLost";
  for (const StoredRecord& record : {key, value, tombstone, header}) {
    EXPECT_EQ(Verify({record}).damaged, 1u);
    EXPECT_FALSE(Verify({record}).good());
  }
}

TEST_F(ExpectedEventsTest, NumbersContinuePerKeyWithoutRolledBackEvents) {
  EXPECT_EQ(expected_.NextNumber("a"), 1u);
  Commit("a");
  expected_.RolledBack(5);
  EXPECT_EQ(expected_.NextNumber("a"), 2u);
  EXPECT_EQ(expected_.NextNumber("b"), 1u);
  EXPECT_EQ(expected_.committed(), 1u);
  EXPECT_EQ(expected_.transactions(), 1u);
  EXPECT_EQ(expected_.transactions_rolled_back(), 1u);
}

}  // namespace
}  // namespace walrelay

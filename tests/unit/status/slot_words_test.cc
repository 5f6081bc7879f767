// What is said of a slot.
#include "status/slot_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_samples.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Samples;
using testing::StatusSample;

std::string SlotText(const SlotSample& slot) {
  std::string text;
  for (const std::string& words : SlotWords(slot)) {
    text += words + "\n";
  }
  return text;
}

TEST(SlotWordsTest, ReportsRetainedWalAndTheReserve) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().row.safe_wal_size = 600 * testing::kMiB;
  sample.slot().wal_bytes_per_second = 1.0 * testing::kMiB;
  EXPECT_EQ(SlotText(sample.slot()),
            "Postgres retains 18.0 MiB of WAL for the slot.\n"
            "600.0 MiB more WAL can be written before the slot is invalidated. If no further "
            "progress is confirmed, that lasts 10 min at 1.0 MiB/s.\n");
  sample.slot().time_to_loss = minutes(9);
  EXPECT_THAT(SlotText(sample.slot()), HasSubstr("invalidated: at 1.0 MiB/s, in about 9 min."));
}

TEST(SlotWordsTest, ExhaustedReserveIsReported) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().row.safe_wal_size = -1;
  EXPECT_THAT(SlotText(sample.slot()), HasSubstr("The limit is reached"));
}

TEST(SlotWordsTest, OperatorsLimitIsReportedWithItsEffect) {
  StatusSample sample(RelayState::kStreaming);
  SlotSample& slot = sample.slot();
  slot.wal_bytes_per_second = 0;
  slot.budget = WalRetentionLimit{.bytes = 20 * testing::kMiB};
  EXPECT_THAT(SlotText(slot), HasSubstr("2.0 MiB more WAL can be written before "
                                        "source.max_retained_wal (20.0 MiB) is reached (nothing "
                                        "is dropped)."));
  slot.budget->drop_slot = true;
  EXPECT_THAT(SlotText(slot), HasSubstr("is reached and the slot is dropped."));
  slot.budget->bytes = 17 * testing::kMiB;
  EXPECT_THAT(SlotText(slot), HasSubstr("the relay that reads the slot drops it."));
  slot.budget->drop_slot = false;
  EXPECT_THAT(SlotText(slot),
              HasSubstr("nothing is dropped, but the slot uses more of the server's disk"));
  slot.row.safe_wal_size.reset();
  EXPECT_THAT(SlotText(slot), Not(HasSubstr("no limit")));
}

TEST(SlotWordsTest, MissingLimitIsReportedAsARisk) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().row.safe_wal_size.reset();
  EXPECT_THAT(SlotText(sample.slot()), HasSubstr("can fill the server's disk"));
}

TEST(SlotWordsTest, TransactionThatRetainsWalIsNamed) {
  EXPECT_THAT(
      SlotText(*Samples().at("slot_almost_lost").snapshot.slot),
      HasSubstr("2.0 GiB of it is confirmed but still retained, because a transaction has been "
                "open for 2 h 5 min: server process 5120, user reports, application "
                "nightly export, database shop."));
}

TEST(SlotWordsTest, SpillingIsReported) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().spill = SpillCounters{3, 5 * testing::kGiB, 7};
  EXPECT_THAT(SlotText(sample.slot()), HasSubstr("3 transactions (5.0 GiB) to disk"));
}

TEST(SlotWordsTest, LostSlotReportsNoRetainedWal) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().risk = SlotRisk::kLost;
  sample.slot().row.invalidation_reason = "wal_removed";
  EXPECT_THAT(SlotText(sample.slot()),
              AllOf(HasSubstr("invalidated the slot (wal_removed)"), Not(HasSubstr("retains"))));
}

}  // namespace
}  // namespace walrelay

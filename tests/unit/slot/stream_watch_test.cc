#include "slot/stream_watch.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

// A walsender that has sent everything up to 100, on a server whose WAL is flushed up to 900.
class StreamWatchTest : public ::testing::Test {
 protected:
  StreamWatchTest() {
    sample_.exists = true;
    sample_.row = {.active = true, .active_pid = 4711};
    sample_.flushed = Lsn(900);
  }
  void Waits(std::string type, std::string event) {
    sample_.activity = ReaderActivity{.wait_type = std::move(type), .wait_event = std::move(event)};
  }
  void WaitsForStandby() { Waits("IPC", "WaitForStandbyConfirmation"); }
  // A sample after `time`.
  void Sample(Micros time = seconds(5)) {
    now_ += time;
    sample_.silence = watch_.Add(now_, sample_, {reader_, received_});
  }
  std::optional<SilenceCause> Cause() const {
    return sample_.silence ? std::optional(sample_.silence->cause) : std::nullopt;
  }

  MonoTime now_{seconds(1000)};
  SlotSample sample_;
  int reader_ = 4711;
  Lsn received_{100};
  StreamWatch watch_;
};

TEST_F(StreamWatchTest, StreamThatHasReceivedAllFlushedWalIsUpToDate) {
  WaitsForStandby();
  received_ = sample_.flushed;
  for (int i = 0; i < 100; ++i) {
    Sample();
    EXPECT_EQ(Cause(), std::nullopt);
  }
}

TEST_F(StreamWatchTest, WithoutAStreamThereIsNoSilence) {
  WaitsForStandby();
  received_ = Lsn();
  Sample();
  EXPECT_EQ(Cause(), std::nullopt);
}

// A network that loses every packet does not tell the reader that the server process has ended.
TEST_F(StreamWatchTest, ProcessThatReadsTheSlotNoMoreIsReportedAfterTwentySeconds) {
  sample_.row = {};
  Sample();
  Sample(seconds(19));
  EXPECT_TRUE(SilenceStatus(sample_).ok());
  Sample(seconds(1));
  EXPECT_THAT(SilenceStatus(sample_),
              HasError(ErrorCode::kStreamSilent, "server process 4711, which sent everything"));
  sample_.row = {.active = true, .active_pid = 4712};
  WaitsForStandby();
  Sample();
  EXPECT_THAT(SilenceStatus(sample_), HasError(ErrorCode::kStreamSilent, "process 4712 reads it"));
  sample_.exists = false;
  Sample();
  EXPECT_THAT(SilenceStatus(sample_),
              HasError(ErrorCode::kStreamSilent, "the slot does not exist"));
}

TEST_F(StreamWatchTest, AwaitedStandbyIsReportedAfterTenSeconds) {
  WaitsForStandby();
  Sample();
  Sample();
  EXPECT_EQ(Cause(), SilenceCause::kStandby);
  EXPECT_TRUE(SilenceStatus(sample_).ok());
  sample_.standbys = {{"east", "does not exist"}, {"west", "has no reader"}};
  Sample();
  EXPECT_THAT(
      SilenceStatus(sample_),
      HasError(ErrorCode::kStandbyAwaited, "slot east does not exist, slot west has no reader"));
}

TEST_F(StreamWatchTest, WaitForAStandbyOutlivesTheConnection) {
  WaitsForStandby();
  Sample();
  sample_.row.active_pid = reader_ = 4712;
  Sample();
  sample_.row.active_pid = reader_ = 4713;
  Sample();
  EXPECT_EQ(sample_.silence->lasted, seconds(10));
  EXPECT_THAT(SilenceStatus(sample_), HasError(ErrorCode::kStandbyAwaited));
}

// A stream that waits for the standby at each sample, but moves in between.
TEST_F(StreamWatchTest, HealthyStreamThatWaitsForStandbysIsNotSilent) {
  WaitsForStandby();
  for (int i = 0; i < 100; ++i) {
    received_ = Lsn(received_.value() + 1);
    Sample();
    EXPECT_TRUE(SilenceStatus(sample_).ok());
  }
}

// A transaction of gigabytes, or the WAL of other tables: the process computes, reads and spills.
TEST_F(StreamWatchTest, ProcessThatWorksIsNotAnError) {
  const std::pair<const char*, const char*> works[] = {{"", ""},
                                                       {"IO", "ReorderBufferRead"},
                                                       {"IO", "WALRead"},
                                                       {"LWLock", "WALInsert"},
                                                       {"Client", "WalSenderWriteData"}};
  for (size_t i = 0; i < 100; ++i) {
    const auto& [type, event] = works[i % std::size(works)];
    Waits(type, event);
    Sample();
    EXPECT_EQ(Cause(), SilenceCause::kDecoding);
    EXPECT_TRUE(SilenceStatus(sample_).ok());
  }
  EXPECT_EQ(sample_.silence->lasted, seconds(495));
}

TEST_F(StreamWatchTest, WaitThatNothingExplainsIsReportedAfterTwentySeconds) {
  Waits("Lock", "relation");
  Sample();
  Sample(seconds(19));
  EXPECT_TRUE(SilenceStatus(sample_).ok());
  Sample(seconds(1));
  EXPECT_THAT(SilenceStatus(sample_), HasError(ErrorCode::kStreamSilent, "it waits for relation"));
}

// A standby that is held up explains a part of the silence only.
TEST_F(StreamWatchTest, WaitsForDifferentThingsAddUp) {
  Waits("Lock", "relation");
  Sample();
  Sample(seconds(9));
  WaitsForStandby();
  Sample(seconds(1));
  Sample(seconds(5));
  EXPECT_TRUE(SilenceStatus(sample_).ok());
  Waits("Lock", "relation");
  Sample(seconds(4));
  EXPECT_TRUE(SilenceStatus(sample_).ok());
  Sample(seconds(1));
  EXPECT_THAT(SilenceStatus(sample_), HasError(ErrorCode::kStreamSilent, "for 20 s"));
}

TEST_F(StreamWatchTest, WaitIsCountedFromTheLastSampleThatWasDifferent) {
  Waits("Lock", "relation");
  Sample();
  Sample(seconds(15));
  Waits("", "");
  Sample();
  Waits("Lock", "relation");
  Sample();
  EXPECT_EQ(sample_.silence->lasted, Micros(0));
  sample_.row.active_pid = reader_ = 4712;
  Sample(seconds(60));
  EXPECT_EQ(sample_.silence->lasted, Micros(0));
}

}  // namespace
}  // namespace walrelay

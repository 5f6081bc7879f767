// Durable progress in the relay: the slot is confirmed only up to what is recorded, and a restarted
// relay compares server and slot with the record.

#include "relay/progress_recorder.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "fakes/progress_fixture.h"
#include "fakes/status_matchers.h"
#include "relay/relay.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kTopic = testing::kProgressTopic;

class ProgressRecorderTest : public testing::ProgressFixture {
 protected:
  ProgressRecorderTest() {
    config_.pipeline.progress = ProgressRecording::kAuto;
    kafka_.auto_acknowledge = true;
  }
  void StartAndPublish() {
    Start();
    Commit("a");
    Pass(seconds(1));
  }
  Lsn Recorded() const { return Records().empty() ? Lsn() : Records().back().frontier; }
  // Publishes "a", and stops without a drain, as a crash does.
  void PublishAndCrash() {
    StartAndPublish();
    ASSERT_THAT(Events(), ElementsAre("a"));
    Crash();
  }
  // The first attempt of the next process reads the record, and no stream begins.
  void FailToStart() {
    postgres_.start_error = Error(ErrorCode::kConnectionLost, "reset");
    MakeRelay();
    relay_->Turn();
    ASSERT_THAT(postgres_.start_error, IsOk());
    ASSERT_FALSE(postgres_.streaming());
  }
  // The slot is at an earlier position, as after a crash of the server.
  void MoveSlotBack(Lsn position) { postgres_.info.slot->confirmed_flush_lsn = position; }
  std::optional<Gap> Held() {
    Pass(milliseconds(250));
    return board_.Read().gap;
  }
  void ExpectHeld(ErrorCode code) {
    ASSERT_TRUE(Held().has_value());
    EXPECT_THAT(Held()->error, HasError(code));
  }
  // The relay holds a gap: the server was restored to a state before the last published event.
  void HoldRestoredServer() {
    PublishAndCrash();
    MoveSlotBack(Lsn(900));
    postgres_.info.server.wal_end = Lsn(950);
    Restart();
    ExpectHeld(ErrorCode::kServerBehind);
  }
  // Another instance takes the slot, and this one stands by.
  void LoseSlot() {
    postgres_.info.slot->active = true;
    postgres_.info.slot->active_pid = 555;
    postgres_.BreakConnection();
    Pass(seconds(5));
  }
  // The other instance has ended.
  void RegainSlot() {
    postgres_.info.slot->active = false;
    Pass(seconds(5));
  }
  // Publishes "a", and records the horizon of this reading.
  void PublishBefore(uint64_t xid) {
    Start();
    Pass(seconds(1));
    relay_->OnXidsRead(Xids(xid), clock_.Now());
    Commit("a");
    Pass(seconds(1));
    ASSERT_THAT(Records().back().horizons, SizeIs(1));
  }
  // As read from the server of the stream.
  XidReading Xids(uint64_t xid) const {
    return {.horizon = {.xid = xid, .insert_lsn = Lsn(1010), .taken = clock_.WallNow()},
            .next = {.xid = xid + 50, .taken = clock_.WallNow()},
            .system_id = postgres_.info.server.system_id,
            .timeline = postgres_.info.server.timeline,
            .publication = postgres_.info.publication_state.identity};
  }
  // Publishes an event, and passes a horizon with this xid.
  void ProveUpTo(uint64_t xid) {
    relay_->OnXidsRead(Xids(xid), clock_.Now());
    Commit("a");
    Pass(seconds(1));
  }
  // Readings of which each differs like this from one of the stream's server.
  void ExpectIgnored(const std::vector<std::function<void(XidReading&)>>& differences) {
    Start();
    Pass(seconds(1));
    for (const auto& differ : differences) {
      XidReading xids = Xids(900);
      differ(xids);
      relay_->OnXidsRead(xids, clock_.Now());
    }
    Commit("a");
    Pass(seconds(1));
    EXPECT_THAT(Records().back().horizons, IsEmpty());
    EXPECT_FALSE(Records().back().published_from.valid());
  }
  void Accept() {
    relay_->AcceptGap(Held()->id);
    Pass(seconds(1));
  }
};

TEST_F(ProgressRecorderTest, Off) {
  config_.pipeline.progress = ProgressRecording::kOff;
  PublishAndCrash();
  EXPECT_THAT(Records(), IsEmpty());
  EXPECT_EQ(progress_.reads, 0);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, RecordsWhatIsPublished) {
  Start();
  const WallTime committed = clock_.WallNow();
  const Lsn end = Commit("a");
  Pass(seconds(1));
  ASSERT_FALSE(Records().empty());
  const Progress record = Records().back();
  EXPECT_EQ(record.pipeline, "shop.walrelay");
  EXPECT_EQ(record.system_id, "7301");
  EXPECT_EQ(record.timeline, 1u);
  EXPECT_EQ(record.database, "shop");
  EXPECT_EQ(record.slot, "walrelay");
  EXPECT_EQ(record.frontier, end);
  EXPECT_EQ(record.last.commit_lsn, Lsn(end.value() - 48));
  EXPECT_EQ(record.last.commit_time, committed);
  EXPECT_EQ(record.sequence, Records().size());
  EXPECT_EQ(record.generation, 0u);
  EXPECT_EQ(kafka_.log.back().key, "shop.walrelay");
  EXPECT_EQ(kafka_.log.back().headers.at("walrelay.format"), "1");
}

TEST_F(ProgressRecorderTest, ConfirmsOnlyWhatIsRecorded) {
  kafka_.auto_acknowledge = false;
  Start();
  const Lsn end = Commit("a");
  Pass(seconds(1));
  // First the event, with a record of the start; then the record of the event.
  for (int round = 0; round < 2; ++round) {
    EXPECT_LT(postgres_.confirmed(), end);
    EXPECT_LE(postgres_.confirmed(), std::max(Recorded(), Lsn(1000)));
    kafka_.AcknowledgeAll();
    Pass(seconds(1));
  }
  EXPECT_EQ(Recorded(), end);
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(ProgressRecorderTest, OneRecordPerInterval) {
  Start();
  Pass(seconds(1));
  const size_t before = Records().size();
  for (int i = 0; i < 100; ++i) {
    Commit("a");
    Pass(milliseconds(10));
  }
  EXPECT_LE(Records().size() - before, 11u);
  EXPECT_GE(Records().size() - before, 9u);
}

TEST_F(ProgressRecorderTest, WalOfOtherTablesIsRecordedRarely) {
  StartAndPublish();
  const size_t before = Records().size();
  for (int i = 0; i < 300; ++i) {
    postgres_.OtherTraffic();
    Pass(milliseconds(100));
  }
  EXPECT_EQ(Records().size() - before, 3u);
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  EXPECT_LT(postgres_.confirmed(), postgres_.info.server.wal_end);
  EXPECT_EQ(board_.Read().progress->ahead_bytes, 0u);
  Pass(RecordCadence::kPositionInterval);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, EventsBehindWalOfOtherTablesAreRecordedSoon) {
  StartAndPublish();
  postgres_.OtherTraffic();
  Pass(seconds(1));
  const Lsn end = Commit("b");
  Pass(milliseconds(250));
  EXPECT_EQ(Recorded(), end);
  EXPECT_EQ(postgres_.confirmed(), end);
}

// The record that is offered again names the event, with a frontier before it.
TEST_F(ProgressRecorderTest, AnEventIsConfirmedSoonAfterARefusalAndAReconnection) {
  Start();
  Pass(seconds(1));
  const Lsn end = ReconnectAfterARefusal();
  for (const size_t before = Records().size(); Records().size() == before;) {
    Pass(milliseconds(10));
  }
  Pass(milliseconds(500));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(ProgressRecorderTest, MuchWalOfOtherTablesIsRecordedSoon) {
  StartAndPublish();
  postgres_.info.server.wal_end =
      Lsn(postgres_.info.server.wal_end.value() + RecordCadence::kPositionBytes);
  postgres_.OtherTraffic();
  Pass(milliseconds(250));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

// A server that shuts down waits for it.
TEST_F(ProgressRecorderTest, WhatTheServerRequestsIsRecordedSoon) {
  StartAndPublish();
  postgres_.OtherTraffic();
  Pass(seconds(1));
  EXPECT_LT(postgres_.confirmed(), postgres_.info.server.wal_end);
  postgres_.Keepalive(postgres_.info.server.wal_end, /*reply_requested=*/true);
  Pass(milliseconds(250));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  postgres_.OtherTraffic();  // which it has not requested
  Pass(seconds(1));
  EXPECT_LT(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, ADrainRecordsWalOfOtherTables) {
  StartAndPublish();
  postgres_.OtherTraffic();
  Pass(seconds(1));
  relay_->Drain();
  Pass(milliseconds(250));
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, ADrainRecordsAndConfirmsEverything) {
  Start();
  Pass(seconds(1));
  const Lsn end = Commit("a");
  Run();
  relay_->Drain();
  Pass(seconds(1));
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(Recorded(), end);
  EXPECT_EQ(postgres_.confirmed(), end);
}

// The earlier stream, which has written the record, had come further than the one that ends.
TEST_F(ProgressRecorderTest, ADrainWaitsForTheRecordInFlight) {
  StartAndPublish();
  kafka_.auto_acknowledge = false;
  postgres_.OtherTraffic();
  Pass(seconds(11));
  ASSERT_FALSE(kafka_.in_flight.empty());
  postgres_.BreakConnection();
  Pass(seconds(1));
  ASSERT_TRUE(postgres_.streaming());
  relay_->Drain();
  Pass(milliseconds(250));
  EXPECT_FALSE(relay_->finished());
  kafka_.AcknowledgeAll();
  Run();
  EXPECT_TRUE(relay_->finished());
}

TEST_F(ProgressRecorderTest, PublishedEventsAreNotRepeated) {
  PublishAndCrash();
  MoveSlotBack(Lsn(1000));
  Restart();
  EXPECT_THAT(Events(), ElementsAre("a"));
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, ARestoredServer) {
  PublishAndCrash();
  postgres_.info.server.wal_end = Lsn(1010);
  MoveSlotBack(Lsn(1000));
  Restart();
  ExpectHeld(ErrorCode::kServerBehind);
}

TEST_F(ProgressRecorderTest, ARestoredServerThatHasGrownPast) {
  PublishAndCrash();
  postgres_.Rewind(Lsn(1000));
  MoveSlotBack(Lsn(1000));
  clock_.Advance(seconds(1));
  Commit("x");  // the same position and xid at another time
  Commit("y");
  Restart();
  ExpectHeld(ErrorCode::kHistoryRewritten);
  EXPECT_THAT(Events(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
  // The acceptance is durable: the record of the new generation counts, though it is behind.
  Accept();
  EXPECT_THAT(Events(), ElementsAre("a", "x", "y"));
  Crash();
  Restart();
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(Records().back().generation, 1u);
}

// Nothing was published since the acceptance, so the record names no transaction.
TEST_F(ProgressRecorderTest, ARestoredServerAfterAnAcceptedGap) {
  PublishAndCrash();
  postgres_.info.server.wal_end = Lsn(2000);
  MoveSlotBack(Lsn(2000));
  Restart();
  ExpectHeld(ErrorCode::kSlotMoved);
  Accept();
  ASSERT_EQ(Recorded(), Lsn(2000));
  Crash();
  postgres_.Rewind(Lsn(1500));
  MoveSlotBack(Lsn(1500));
  Commit("x");
  postgres_.info.server.wal_end = Lsn(3000);
  Restart();
  EXPECT_FALSE(Held().has_value());
  EXPECT_THAT(Events(), ElementsAre("a", "x"));
}

TEST_F(ProgressRecorderTest, AnEventThatATopicHadIsPublished) {
  kafka_.stored_keys = {"a"};
  Start();
  const Lsn end = Commit("a");
  Pass(seconds(1));
  EXPECT_EQ(Recorded(), end);
  EXPECT_EQ(Records().back().last.commit_lsn, Lsn(end.value() - 48));
}

// Another instance publishes while this one cannot start to stream.
TEST_F(ProgressRecorderTest, TheRecordIsReadAgainUntilAStreamHasBegun) {
  PublishAndCrash();
  FailToStart();
  progress_.stored = Records().back();
  progress_.stored->frontier = Lsn(2000);
  postgres_.info.server.wal_end = Lsn(2500);
  MoveSlotBack(Lsn(2000));
  Pass(seconds(30));
  EXPECT_FALSE(Held().has_value());
  EXPECT_TRUE(postgres_.streaming());
}

// The slot is beyond the record that was read last, but it is not known whether that is the newest.
TEST_F(ProgressRecorderTest, NoGapIsReportedWhileTheRecordCannotBeRead) {
  config_.source.max_retained_wal = 100;
  config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
  PublishAndCrash();
  FailToStart();
  progress_.error = Error(ErrorCode::kKafkaUnreachable, "no broker responds");
  postgres_.info.server.wal_end = Lsn(2500);
  postgres_.info.slot->restart_lsn = Lsn(2000);
  MoveSlotBack(Lsn(2000));
  Pass(seconds(30));
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(ShownError(), ErrorCode::kKafkaUnreachable);
  EXPECT_EQ(postgres_.drops, 0u);
}

TEST_F(ProgressRecorderTest, TheCheckOfTheHistorySurvivesReconnections) {
  PublishAndCrash();
  postgres_.Rewind(Lsn(1000));
  MoveSlotBack(Lsn(1000));
  postgres_.info.server.wal_end = Lsn(3000);
  Restart();
  EXPECT_FALSE(Held().has_value());
  postgres_.BreakConnection();
  Pass(seconds(2));
  Commit("x");
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kHistoryRewritten);
}

// Another instance is faster, publishes "b", and ends before the slot is read again.
TEST_F(ProgressRecorderTest, TheRecordIsReadAgainAfterAStartWasRefused) {
  StartAndPublish();
  postgres_.start_error = Error(ErrorCode::kSlotBusy, "another instance was faster");
  postgres_.BreakConnection();
  for (int i = 0; i < 100 && !postgres_.start_error.ok(); ++i) {
    Pass(milliseconds(10));
  }
  ASSERT_THAT(postgres_.start_error, IsOk());
  Progress record = Records().back();
  record.last = {
      .commit_lsn = postgres_.info.server.wal_end, .xid = 7, .commit_time = clock_.WallNow()};
  Commit("b");
  record.frontier = postgres_.info.server.wal_end;
  kafka_.log.push_back(
      {.topic = std::string(kTopic), .key = record.pipeline, .value = EncodeProgress(record)});
  Pass(seconds(2));
  EXPECT_THAT(Events(), ElementsAre("a"));
}

// Pruning waits for it.
TEST_F(ProgressRecorderTest, AHorizonIsRecordedSoon) {
  PublishBefore(900);
  postgres_.OtherTraffic();
  XidReading xids = Xids(1900);
  xids.horizon.insert_lsn = postgres_.info.server.wal_end;
  xids.horizon.taken = clock_.WallNow() + seconds(10);
  relay_->OnXidsRead(xids, clock_.Now());
  Pass(seconds(1));
  EXPECT_EQ(Records().back().horizons.back().xid, 1900u);
}

// Nothing else would wake the relay.
TEST_F(ProgressRecorderTest, ProgressIsRecordedInTheTurnThatReadsIt) {
  Start();
  Pass(RecordCadence::kPositionInterval);
  kafka_.auto_acknowledge = false;
  postgres_.OtherTraffic();
  relay_->Turn();
  ASSERT_THAT(kafka_.in_flight, SizeIs(1));
  EXPECT_EQ(kafka_.in_flight[0].topic, kTopic);
}

TEST_F(ProgressRecorderTest, OtherTrafficShowsARewrittenHistory) {
  PublishAndCrash();
  const Lsn last = Records().back().last.commit_lsn;
  postgres_.Rewind(Lsn(1000));
  MoveSlotBack(Lsn(1000));
  postgres_.info.server.wal_end = Lsn(3000);
  Restart();
  ASSERT_TRUE(postgres_.streaming());
  postgres_.OtherTraffic();
  ExpectHeld(ErrorCode::kHistoryRewritten);
  EXPECT_LE(postgres_.confirmed(), last);
}

TEST_F(ProgressRecorderTest, ASlotThatWasAdvanced) {
  PublishAndCrash();
  Commit("b");
  MoveSlotBack(postgres_.info.server.wal_end);
  Restart();
  ExpectHeld(ErrorCode::kSlotMoved);
}

TEST_F(ProgressRecorderTest, ASlotThatIsGone) {
  config_.source.create_slot = true;
  PublishAndCrash();
  postgres_.info.slot.reset();
  Restart();
  ExpectHeld(ErrorCode::kSlotGone);
}

TEST_F(ProgressRecorderTest, AnotherServer) {
  PublishAndCrash();
  postgres_.info.server.system_id = "9999";
  Restart();
  ExpectHeld(ErrorCode::kSystemChanged);
}

TEST_F(ProgressRecorderTest, TheRecordOfAnotherPipeline) {
  config_.kafka.progress_topic = std::string(kTopic);
  PublishAndCrash();
  config_.pipeline.id = "another";
  Restart();
  ExpectHeld(ErrorCode::kProgressForeign);
  Accept();
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(Records().back().pipeline, "another");
  EXPECT_EQ(Records().back().generation, 1u);
}

TEST_F(ProgressRecorderTest, AFailoverSkipsWhatWasPublishedBeforeTheFork) {
  PublishAndCrash();
  const Lsn fork = postgres_.info.server.wal_end;
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, fork}};
  MoveSlotBack(Lsn(1000));
  Commit("b");
  Restart();
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(Records().back().timeline, 2u);
}

TEST_F(ProgressRecorderTest, AFailoverThatLostPublishedEvents) {
  PublishAndCrash();
  postgres_.Rewind(Lsn(1000));
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, Lsn(1000)}};
  MoveSlotBack(Lsn(1000));
  Commit("x");
  Restart();
  EXPECT_FALSE(Held().has_value());
  EXPECT_THAT(Events(), ElementsAre("a", "x"));
}

TEST_F(ProgressRecorderTest, AfterATakeoverTheRecordIsReadAgain) {
  Start();
  Pass(seconds(1));
  // The other instance publishes and records; then the slot is advanced.
  LoseSlot();
  progress_.stored = Records().back();
  progress_.stored->frontier = Lsn(1100);
  postgres_.info.server.wal_end = Lsn(2000);
  MoveSlotBack(Lsn(1500));
  RegainSlot();
  ExpectHeld(ErrorCode::kSlotMoved);
}

// While this process could not connect, another instance had the slot, and was stopped.
TEST_F(ProgressRecorderTest, ATakeoverThatWasNotSeenIsNoGap) {
  StartAndPublish();
  postgres_.BreakConnection();
  progress_.stored = Records().back();
  progress_.stored->run_id = "another";
  progress_.stored->frontier = Lsn(1500);
  postgres_.info.server.wal_end = Lsn(2000);
  MoveSlotBack(Lsn(1500));
  Pass(seconds(2));
  EXPECT_FALSE(Held().has_value()) << Held()->error;
  EXPECT_EQ(postgres_.starts.back(), Lsn(1500));
}

// Another instance follows a promoted server that lacks published commits, and records on its
// timeline: the server assigns their xids again.
TEST_F(ProgressRecorderTest, AfterATakeoverHorizonsBehindAForkAreForgotten) {
  PublishBefore(900);
  LoseSlot();
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, Lsn(1005)}};
  progress_.stored = Records().back();
  progress_.stored->timeline = 2;
  progress_.stored->ancestors = {{1, Lsn(1005)}};
  progress_.stored->horizons.clear();
  RegainSlot();
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(Records().back().timeline, 2u);
  EXPECT_THAT(Records().back().horizons, IsEmpty());
}

TEST_F(ProgressRecorderTest, ARefusedRecordBlocks) {
  Start();
  Pass(seconds(1));
  kafka_.bad_topics[std::string(kTopic)] = Error(ErrorCode::kTopicDenied, "not authorized");
  Commit("a");
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  const Lsn confirmed = postgres_.confirmed();
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), confirmed);
  kafka_.bad_topics.clear();
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(ProgressRecorderTest, ARecordRefusedByTheBrokersBlocks) {
  Start();
  Pass(seconds(1));
  kafka_.refused_keys["shop.walrelay"] = Error(ErrorCode::kTopicDenied, "not authorized");
  Commit("a");
  Pass(seconds(5));
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  kafka_.refused_keys.clear();
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Events(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, ARecordTooLargeForTheTopicBlocks) {
  Start();
  Pass(seconds(1));
  kafka_.refused_keys["shop.walrelay"] = Error(ErrorCode::kBatchTooLarge, "message too large");
  Commit("a");
  Pass(seconds(5));
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  kafka_.refused_keys.clear();
  Pass(std::chrono::minutes(1));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, AutoContinuesWithoutTheRight) {
  progress_.error = Error(ErrorCode::kProgressDenied, "denied");
  StartAndPublish();
  EXPECT_THAT(Events(), ElementsAre("a"));
  EXPECT_THAT(Records(), IsEmpty());
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, RequiredDoesNotContinueWithoutTheRight) {
  config_.pipeline.progress = ProgressRecording::kRequired;
  progress_.error = Error(ErrorCode::kProgressDenied, "denied");
  StartAndPublish();
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  EXPECT_FALSE(relay_->finished());
}

TEST_F(ProgressRecorderTest, RequiredNeedsARecordForAUsedSlot) {
  config_.pipeline.progress = ProgressRecording::kRequired;
  Start();
  Pass(seconds(1));
  EXPECT_EQ(ShownError(), ErrorCode::kProgressMissing);
}

TEST_F(ProgressRecorderTest, RequiredNeedsNoRecordForANewSlot) {
  config_.pipeline.progress = ProgressRecording::kRequired;
  config_.source.create_slot = true;
  postgres_.info.slot.reset();
  PublishAndCrash();
  EXPECT_FALSE(Records().empty());
}

TEST_F(ProgressRecorderTest, AReplacedRelayKeepsItsMemory) {
  StartAndPublish();
  relay_->Drain();
  Pass(seconds(1));
  memory_ = relay_->memory();
  Restart();
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(Recorded(), postgres_.info.server.wal_end);
}

TEST_F(ProgressRecorderTest, KeepsXidHorizons) {
  PublishBefore(900);
  EXPECT_EQ(Records().back().horizons.front().xid, 900u);
  EXPECT_EQ(Records().back().published_from.xid, 950u);
}

// A server that is frozen keeps its connection.
TEST_F(ProgressRecorderTest, ANewerPrimaryEndsTheStream) {
  Start();
  Pass(seconds(1));
  XidReading xids = Xids(900);
  ++xids.timeline;
  relay_->OnXidsRead(xids, clock_.Now());
  Commit("a");
  Pass(seconds(5));
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kServersDiffer));
  EXPECT_THAT(Events(), IsEmpty());
  relay_->OnXidsRead(Xids(900), clock_.Now());
  Pass(seconds(20));
  EXPECT_THAT(Events(), ElementsAre("a"));
}

TEST_F(ProgressRecorderTest, AnotherClusterIsHeld) {
  kafka_.cluster_id = "first";
  StartAndPublish();
  kafka_.cluster_id = "second";
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kClusterChanged);
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a"));
  Accept();
  Pass(seconds(20));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
}

// An operator has accepted more gaps there, which says nothing of this one.
TEST_F(ProgressRecorderTest, TheRecordOfAnotherClusterIsNoAcceptance) {
  kafka_.cluster_id = progress_.others.cluster_id = "first";
  StartAndPublish();
  Progress there = Records().back();
  there.generation = 5;
  there.cluster_id = "second";
  kafka_.cluster_id = progress_.others.cluster_id = "second";
  progress_.stored = there;
  Pass(seconds(30));
  ExpectHeld(ErrorCode::kClusterChanged);
  EXPECT_FALSE(progress_.stored->held);
  Accept();
  EXPECT_TRUE(postgres_.streaming());
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(Records().back().generation, 6u);
}

// The server is restored, and its WAL ends before what it has sent.
TEST_F(ProgressRecorderTest, AGapIsHeldByEachProcessUntilItIsAccepted) {
  PublishAndCrash();
  const Lsn grown = postgres_.info.server.wal_end;
  MoveSlotBack(Lsn(900));
  postgres_.info.server.wal_end = Lsn(950);
  Restart();
  ExpectHeld(ErrorCode::kServerBehind);
  const std::string id = Held()->id;
  ASSERT_TRUE(progress_.stored && progress_.stored->held);
  EXPECT_EQ(progress_.stored->held->id, id);
  EXPECT_EQ(progress_.stored->frontier, Recorded());  // what is published stays known
  Crash();
  postgres_.info.server.wal_end = Lsn(grown.value() + 1000);  // which shows nothing any more
  Restart();
  ExpectHeld(ErrorCode::kServerBehind);
  EXPECT_EQ(Held()->id, id);
  Accept();
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(Records().back().generation, 1u);
  EXPECT_FALSE(Records().back().held);
  Crash();
  Restart();
  EXPECT_FALSE(Held().has_value());
  EXPECT_TRUE(postgres_.streaming());
}

// `walrelay recover` finds what is not published by it.
TEST_F(ProgressRecorderTest, AGapOfTheSlotKeepsTheProof) {
  Start();
  ProveUpTo(900);
  Crash();
  const Progress before = Records().back();
  ASSERT_THAT(before.horizons, SizeIs(1));
  postgres_.info.slot->wal_status = "lost";
  Restart();
  ExpectHeld(ErrorCode::kSlotLost);
  ASSERT_TRUE(progress_.stored && progress_.stored->held);
  EXPECT_EQ(progress_.stored->horizons, before.horizons);
  EXPECT_EQ(progress_.stored->published_from.xid, before.published_from.xid);
}

// Rows of the lost history have the same xids.
TEST_F(ProgressRecorderTest, AGapOfTheServerKeepsNoProof) {
  Start();
  ProveUpTo(900);
  Crash();
  MoveSlotBack(Lsn(900));
  postgres_.info.server.wal_end = Lsn(950);
  Restart();
  ExpectHeld(ErrorCode::kServerBehind);
  ASSERT_TRUE(progress_.stored && progress_.stored->held);
  EXPECT_THAT(progress_.stored->horizons, IsEmpty());
  EXPECT_FALSE(progress_.stored->published_from.valid());
}

// The next process compares the publication with it.
TEST_F(ProgressRecorderTest, AGapBringsThePublicationIntoARecordWithoutOne) {
  // As `progress init` writes it.
  progress_.stored = ProgressFrom(config_.source, config_.pipeline, postgres_.info);
  Start();
  Pass(seconds(1));
  ASSERT_THAT(Records(), IsEmpty());
  postgres_.info.slot.reset();
  postgres_.BreakConnection();
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kSlotGone);
  ASSERT_TRUE(progress_.stored->held);
  ASSERT_TRUE(progress_.stored->seen_publication);
  EXPECT_EQ(progress_.stored->seen_publication->state.identity,
            postgres_.info.publication_state.identity);
}

TEST_F(ProgressRecorderTest, AChangeOfThePublicationIsHeldByTheNextProcess) {
  StartAndPublish();
  postgres_.info.publication_state.identity.oid += 1;
  postgres_.BreakConnection();
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
  Crash();
  Restart();
  ExpectHeld(ErrorCode::kPublicationChanged);
  Commit("b");
  Accept();
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(Records().back().generation, 1u);
}

TEST_F(ProgressRecorderTest, AChangeOfThePublicationWhileNoProcessRanIsHeld) {
  PublishAndCrash();
  postgres_.info.publication_state.identity.xmin += 1;
  Restart();
  ExpectHeld(ErrorCode::kPublicationChanged);
  Accept();
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  Crash();
  Restart();
  EXPECT_FALSE(Held().has_value());
}

// The two servers have the same names of database and slot.
TEST_F(ProgressRecorderTest, ARecordThatAnotherServersPipelineWritesIsNotTaken) {
  PublishAndCrash();
  postgres_.info.server.system_id = "7302";
  postgres_.info.server.now = Records().back().written + seconds(1);
  seed_ = 2;  // another run
  Restart();
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kProgressInUse));
  EXPECT_FALSE(Held().has_value());
  EXPECT_FALSE(postgres_.streaming());
  postgres_.info.server.now += seconds(30);
  Pass(seconds(30));
  ExpectHeld(ErrorCode::kSystemChanged);
  EXPECT_FALSE(progress_.stored) << "the gap is not a part of the other pipeline's record";
}

TEST_F(ProgressRecorderTest, AProcessThatExitsAtAGapRecordsIt) {
  PublishAndCrash();
  config_.source.on_gap = OnGap::kExit;
  postgres_.info.slot->confirmed_flush_lsn = postgres_.info.server.wal_end = Lsn(90'000);
  Restart();
  EXPECT_TRUE(relay_->finished());
  ASSERT_TRUE(progress_.stored && progress_.stored->held);
  EXPECT_EQ(progress_.stored->held->code, ErrorCode::kSlotMoved);
}

// With transactions, what its sink has in flight may be published after all.
TEST_F(ProgressRecorderTest, AGapIsRecordedWhenTheTransactionHasEnded) {
  PublishAndCrash();
  config_.source.on_gap = OnGap::kExit;
  postgres_.info.server.wal_end = Lsn(950);
  MoveSlotBack(Lsn(900));
  progress_.settled = false;
  Restart();
  EXPECT_FALSE(relay_->finished());
  EXPECT_FALSE(progress_.stored);
  progress_.settled = true;
  Pass(seconds(30));
  EXPECT_TRUE(relay_->finished());
  EXPECT_TRUE(progress_.stored && progress_.stored->held);
}

// The acceptance replaces the newest version, which may be part of it.
TEST_F(ProgressRecorderTest, AnAcceptanceWaitsForTheEndOfTheTransaction) {
  HoldRestoredServer();
  progress_.settled = false;
  Accept();
  Pass(seconds(5));
  EXPECT_FALSE(postgres_.streaming());
  progress_.settled = true;
  Pass(seconds(30));
  EXPECT_TRUE(postgres_.streaming());
}

TEST_F(ProgressRecorderTest, AGapThatCannotBeRecordedIsRecordedLater) {
  progress_.write_error = Error(ErrorCode::kKafkaUnreachable, "no broker");
  HoldRestoredServer();
  EXPECT_FALSE(progress_.stored);
  progress_.write_error = absl::OkStatus();
  Pass(seconds(30));
  EXPECT_TRUE(progress_.stored && progress_.stored->held);
}

TEST_F(ProgressRecorderTest, AGapThatWasAcceptedElsewhereIsNotHeldAnyMore) {
  HoldRestoredServer();
  Progress accepted = *progress_.stored;
  ++accepted.generation;
  accepted.held.reset();
  accepted.frontier = accepted.settled_before = Lsn(900);
  accepted.last = {};
  progress_.stored = accepted;
  Pass(seconds(30));
  EXPECT_FALSE(Held().has_value());
  EXPECT_TRUE(postgres_.streaming());
}

// An operator decides about each.
TEST_F(ProgressRecorderTest, TheGapOfAnotherInstanceIsNotReplaced) {
  PublishAndCrash();
  Progress found = Records().back();
  found.held = HeldGap{.code = ErrorCode::kPublicationChanged, .id = "2110-1", .reason = "dropped"};
  progress_.stored = found;
  MoveSlotBack(Lsn(900));
  postgres_.info.server.wal_end = Lsn(950);
  Restart();
  ExpectHeld(ErrorCode::kServerBehind);
  EXPECT_EQ(progress_.stored->held->id, "2110-1");
  Accept();
  ExpectHeld(ErrorCode::kPublicationChanged);
  Accept();
  EXPECT_TRUE(postgres_.streaming());
}

// Its records are not this pipeline's to change.
TEST_F(ProgressRecorderTest, NothingIsAddedToTheRecordOfAnotherPipeline) {
  PublishAndCrash();
  Progress other = Records().back();
  other.slot = "other";
  other.frontier = Lsn(90'000);
  progress_.stored = other;
  Restart();
  ExpectHeld(ErrorCode::kProgressForeign);
  EXPECT_FALSE(progress_.stored->held);
}

// The sink does not know the cluster before it has connected.
TEST_F(ProgressRecorderTest, TheClusterOfTheFirstEventIsKnownAtOnce) {
  Start();
  Pass(milliseconds(10));
  kafka_.cluster_id = "first";
  Commit("a");
  Pass(milliseconds(10));
  ASSERT_THAT(Events(), ElementsAre("a"));
  kafka_.cluster_id = "second";
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kClusterChanged);
}

// The acceptance needs the newest record, which was deleted meanwhile.
TEST_F(ProgressRecorderTest, WhatAnAcceptedGapWaitsForIsShown) {
  PublishAndCrash();
  postgres_.info.server.wal_end = Lsn(2000);
  MoveSlotBack(Lsn(2000));
  Restart();
  ExpectHeld(ErrorCode::kSlotMoved);
  progress_.error = Error(ErrorCode::kProgressTopicInvalid, "cleanup.policy=delete");
  Accept();
  EXPECT_TRUE(board_.Read().gap_accepted);
  EXPECT_THAT(board_.Read().waits_for, HasSubstr("WR-4015"));
  progress_.error = absl::OkStatus();
  Pass(seconds(30));
  EXPECT_FALSE(board_.Read().gap.has_value());
}

// Of what Kafka has acknowledged, with and without a record of it.
TEST_F(ProgressRecorderTest, HandsTheProofToOtherThreads) {
  Start();
  Pass(seconds(1));
  relay_->OnXidsRead(Xids(900), clock_.Now());
  EXPECT_THAT(board_.published()->progress.horizons, IsEmpty());
  kafka_.auto_acknowledge = false;
  const Lsn end = Commit("a");
  Pass(seconds(1));
  EXPECT_LT(board_.published()->progress.frontier, end);
  EXPECT_THAT(board_.published()->progress.horizons, IsEmpty());
  kafka_.AcknowledgeAll();
  Pass(milliseconds(250));
  ASSERT_LT(Recorded(), end);
  const Progress proof = board_.published()->progress;
  EXPECT_EQ(proof.frontier, end);
  ASSERT_THAT(proof.horizons, SizeIs(1));
  EXPECT_EQ(proof.horizons.front().xid, 900u);
  EXPECT_EQ(proof.published_from.xid, 950u);
  EXPECT_EQ(proof.system_id, postgres_.info.server.system_id);
}

// The server of the next stream may have been restored: until it has shown a horizon of its own,
// the earlier ones may be of transactions whose xids it assigns again.
TEST_F(ProgressRecorderTest, EachStreamProvesItsOwnHorizon) {
  Start();
  Pass(seconds(1));
  ProveUpTo(900);
  ASSERT_THAT(board_.published()->progress.horizons, SizeIs(1));
  postgres_.BreakConnection();
  Pass(seconds(20));
  ASSERT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(board_.published()->progress.horizons, SizeIs(1));
  EXPECT_FALSE(board_.published()->current);
  relay_->OnXidsRead(Xids(1000), clock_.Now());
  postgres_.xid = 1000;
  Commit("b");
  Pass(seconds(1));
  EXPECT_TRUE(board_.published()->current);
  EXPECT_EQ(board_.published()->progress.horizons.back().xid, 1000u);
}

// The rows before it count as published, and the server may have been restored.
TEST_F(ProgressRecorderTest, NothingIsProvenBeforeThePartialTransactionIsFound) {
  PublishAndCrash();
  Progress record = Records().back();
  record.partial = {
      .transaction = {.commit_lsn = Lsn(9000), .xid = 99, .commit_time = clock_.WallNow()},
      .row_lsn = Lsn(8000),
      .row_index = 1};
  progress_.stored = record;
  Restart();
  Pass(seconds(1));
  ASSERT_EQ(State(), RelayState::kStreaming);
  relay_->OnXidsRead(Xids(900), clock_.Now());
  Pass(seconds(1));
  ASSERT_THAT(board_.published()->progress.horizons, SizeIs(1));
  EXPECT_FALSE(board_.published()->current);
}

TEST_F(ProgressRecorderTest, AnXidThatIsAssignedAgainIsFound) {
  Start();
  Pass(seconds(1));
  ProveUpTo(900);
  postgres_.BreakConnection();
  Pass(seconds(1));
  ASSERT_EQ(State(), RelayState::kStreaming);
  postgres_.xid = 899;
  Commit("b");
  Pass(seconds(1));
  ASSERT_TRUE(Held().has_value());
  EXPECT_TRUE(HasCode(Held()->error, ErrorCode::kHistoryRewritten));
}

TEST_F(ProgressRecorderTest, TheProofOfAnEndedStreamIsMarked) {
  Start();
  Pass(seconds(1));
  EXPECT_FALSE(board_.published()->current);
  ProveUpTo(900);
  EXPECT_TRUE(board_.published()->current);
  postgres_.open_error = Error(ErrorCode::kConnectionLost, "refused");
  postgres_.BreakConnection();
  Pass(seconds(1));
  ASSERT_EQ(board_.Read().state, RelayState::kDegraded);
  EXPECT_FALSE(board_.published()->current);
}

TEST_F(ProgressRecorderTest, AGapProvesNothing) {
  PublishAndCrash();
  postgres_.info.server.system_id = "7302";
  Restart();
  ASSERT_TRUE(Held().has_value());
  EXPECT_FALSE(board_.published().has_value());
}

TEST_F(ProgressRecorderTest, IgnoresXidsOfAnotherServer) {
  ExpectIgnored({[](XidReading& xids) { xids.timeline += 1; },
                 [](XidReading& xids) { xids.system_id = "1"; }});
}

// Rows may have been hidden from the stream before these horizons.
TEST_F(ProgressRecorderTest, IgnoresXidsOfAnotherPublication) {
  ExpectIgnored({[](XidReading& xids) { xids.publication.xmin += 1; }});
}

TEST_F(ProgressRecorderTest, AChangedPublicationProvesNothingOfEarlierRows) {
  Start();
  Pass(seconds(1));
  ProveUpTo(900);
  ASSERT_THAT(Records().back().horizons, SizeIs(1));
  const uint64_t publication = Records().back().publication;
  postgres_.info.publication_state.identity.xmin += 1;
  Crash();
  Restart();
  Accept();
  Commit("b");
  Pass(seconds(1));
  EXPECT_NE(Records().back().publication, publication);
  EXPECT_THAT(Records().back().horizons, IsEmpty());
  EXPECT_FALSE(Records().back().published_from.valid());
}

// The rows may have the xmin of the command, and never have been in the stream.
TEST_F(ProgressRecorderTest, StorageThatWasWrittenAgainProvesNothingOfEarlierRows) {
  Start();
  Pass(seconds(1));
  ProveUpTo(900);
  ASSERT_THAT(Records().back().horizons, SizeIs(1));
  postgres_.info.publication_state.identity.tables[0].rewritten = {{600, 611}};
  relay_->OnXidsRead(Xids(950), clock_.Now());
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Records().back().horizons, IsEmpty());
  EXPECT_FALSE(Records().back().published_from.valid());
  relay_->OnXidsRead(Xids(1000), clock_.Now());
  Commit("c");
  Pass(seconds(1));
  EXPECT_EQ(Records().back().published_from.xid, 1050u);
}

// Likewise: what the server had not flushed when it was read may be lost.
TEST_F(ProgressRecorderTest, ForgetsXidsThatWaitWhenTheStreamEnds) {
  Start();
  Pass(seconds(1));
  kafka_.auto_acknowledge = false;
  ProveUpTo(900);
  postgres_.BreakConnection();
  Pass(seconds(1));
  ASSERT_EQ(State(), RelayState::kStreaming);
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_THAT(Records().back().horizons, IsEmpty());
}

// They may be of a server that has crashed since, and assigns these xids again.
TEST_F(ProgressRecorderTest, IgnoresXidsFromBeforeTheStream) {
  const MonoTime before = clock_.Now();
  Start();
  Pass(seconds(1));
  relay_->OnXidsRead(Xids(900), before - Micros(1));
  Commit("a");
  Pass(seconds(1));
  EXPECT_THAT(Records().back().horizons, IsEmpty());
}

TEST_F(ProgressRecorderTest, TheBeginningOfThePublishedXidsOutlivesTheProcess) {
  Start();
  Pass(seconds(1));
  ProveUpTo(900);
  Restart();
  Pass(seconds(20));
  relay_->OnXidsRead(Xids(1900), clock_.Now());
  postgres_.xid = 1900;
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(Records().back().published_from.xid, 950u);
  EXPECT_EQ(Records().back().horizons.back().xid, 1900u);
}

}  // namespace
}  // namespace walrelay

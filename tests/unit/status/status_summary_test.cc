// The words of a status report: headlines, summaries, and what is unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_samples.h"
#include "status/status_report.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Samples;

TEST(StatusWordsTest, EachStateHasAHeadlineAndSummary) {
  const std::pair<const char*, const char*> kHeadlines[] = {
      {"streaming", "Events flow"}, {"catching_up", "Catching up"},
      {"blocked", "Blocked"},       {"degraded", "Interrupted"},
      {"standby", "Standing by"},   {"slot_almost_lost", "Slot at risk"},
      {"starting", "Starting"},     {"no_relay", "No relay answers"}};
  for (const auto& [name, headline] : kHeadlines) {
    EXPECT_EQ(HeadlineOf(Samples().at(name)), headline);
    EXPECT_TRUE(SummaryOf(Samples().at(name)).ends_with('.')) << name;
  }
}

TEST(StatusWordsTest, ToneReflectsTheUrgency) {
  EXPECT_EQ(HealthOf(Samples().at("streaming")), HealthLevel::kGood);
  EXPECT_EQ(HealthOf(Samples().at("catching_up")), HealthLevel::kBusy);
  EXPECT_EQ(HealthOf(Samples().at("standby")), HealthLevel::kBusy);
  EXPECT_EQ(HealthOf(Samples().at("degraded")), HealthLevel::kWarning);
  EXPECT_EQ(HealthOf(Samples().at("blocked")), HealthLevel::kBad);
  EXPECT_EQ(HealthOf(Samples().at("slot_almost_lost")), HealthLevel::kBad);
}

TEST(StatusWordsTest, CatchingUpReportsBacklogAndTime) {
  EXPECT_EQ(SummaryOf(Samples().at("catching_up")),
            "Publishing a backlog of 3.0 GiB of WAL. Caught up in about 1 min 17 s.");
}

TEST(StatusWordsTest, WithoutARelayTheSlotShowsWhetherAnotherOneRuns) {
  StatusReport report = Samples().at("no_relay");
  EXPECT_THAT(SummaryOf(report), HasSubstr("no client reads the slot"));
  report.snapshot.slot->row.active = true;
  EXPECT_THAT(SummaryOf(report), HasSubstr("process 4711 reads the slot"));
  report.snapshot.slot = SlotSample();
  EXPECT_THAT(SummaryOf(report), HasSubstr("no slot of this name"));
  ASSERT_EQ(ProblemsOf(report).size(), 1u);
  EXPECT_EQ(CodeOf(ProblemsOf(report)[0].error), ErrorCode::kSlotMissing);
}

TEST(StatusWordsTest, ProblemsAreSortedWorstFirst) {
  const auto problems = ProblemsOf(Samples().at("slot_almost_lost"));
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(CodeOf(problems[0].error), ErrorCode::kSlotAtRisk);
  EXPECT_EQ(CodeOf(problems[1].error), ErrorCode::kKafkaStalled);
  EXPECT_TRUE(ProblemsOf(Samples().at("streaming")).empty());
}

TEST(StatusWordsTest, OperatorsLimitIsARiskOnlyIfTheSlotIsDropped) {
  StatusReport report = Samples().at("slot_almost_lost");
  report.snapshot.slot->budget = WalRetentionLimit{.bytes = static_cast<int64_t>(testing::kGiB)};
  EXPECT_EQ(HeadlineOf(report), "Slot retains too much");
  EXPECT_THAT(StatusPage(report), HasSubstr("limit 7.8 GiB"));
  report.snapshot.slot->budget->drop_slot = true;
  EXPECT_EQ(HeadlineOf(report), "Slot at risk");
}

std::string Unknowns(const StatusReport& report) {
  std::string text;
  for (const std::string& words : UnknownsOf(report)) {
    text += words + "\n";
  }
  return text;
}

TEST(StatusWordsTest, AProgressRecordThatIsNotReadIsUnknown) {
  StatusReport report = Samples().at("no_relay");
  EXPECT_EQ(Unknowns(report), "");
  report.record_failure = Error(ErrorCode::kKafkaUnreachable, "no answer");
  EXPECT_EQ(Unknowns(report), "Progress record: not read (WR-4001: no answer).\n");
}

TEST(StatusWordsTest, MissingChecksAreUnknown) {
  StatusReport report = Samples().at("streaming");
  EXPECT_EQ(Unknowns(report), "");
  report.snapshot.sampler.publication = report.now - minutes(3);
  EXPECT_EQ(Unknowns(report), "Publication and tables: last checked 3 min ago.\n");
  EXPECT_EQ(HealthOf(report), HealthLevel::kWarning);
  report.snapshot.sampler = SamplerStatus();
  report.snapshot.sampler.failure = Error(ErrorCode::kPostgresUnreachable, "x");
  EXPECT_EQ(Unknowns(report),
            "The slot: not checked since the start (WR-2001).\n"
            "Publication and tables: not checked since the start (WR-2001).\n");
  EXPECT_EQ(HealthOf(report), HealthLevel::kWarning);
  EXPECT_THAT(StatusPage(report), HasSubstr("Publication and tables: not checked since"));
  EXPECT_THAT(StatusText(report), HasSubstr("unknown      The slot: not checked since"));
  EXPECT_EQ(Unknowns(Samples().at("no_relay")), "");
}

// Staleness is relative to the configured interval: a long interval is not a failure.
TEST(StatusWordsTest, ChecksBecomeStaleByTheConfiguredInterval) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.sampler.slot = report.snapshot.sampler.publication = report.now - minutes(20);
  report.snapshot.sampler.interval = minutes(10);
  EXPECT_EQ(Unknowns(report), "");
}

TEST(StatusWordsTest, SilentStreamIsNotAnInterruption) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.relay.state = RelayState::kDegraded;
  report.snapshot.relay.error = Error(ErrorCode::kStandbyAwaited, "slot east does not exist");
  EXPECT_EQ(HeadlineOf(report), "Events wait in Postgres");
  EXPECT_THAT(SummaryOf(report),
              HasSubstr("until a standby has received them: slot east does not exist."));
  EXPECT_EQ(HealthOf(report), HealthLevel::kWarning);
}

TEST(StatusWordsTest, AgeOfTheLagIsUnknownAfterOneSample) {
  StatusReport report = Samples().at("no_relay");
  report.snapshot.slot->lag_age.reset();
  EXPECT_THAT(StatusText(report), HasSubstr("lag          age unknown, "));
  EXPECT_THAT(StatusPage(report), HasSubstr("age unknown"));
}

TEST(StatusWordsTest, OldestIsUnknownWhileNothingCanBeRead) {
  StatusReport report = Samples().at("streaming");
  EXPECT_EQ(OldestOf(report).value, "none");
  report.snapshot.relay.figures.cut_off_since = report.now - minutes(5);
  EXPECT_EQ(OldestOf(report).value, "unknown");
  EXPECT_THAT(StatusText(report), HasSubstr("oldest event unknown: nothing read for 5 min\n"));
  EXPECT_THAT(StatusPage(report),
              HasSubstr("<dd>unknown<small>nothing read for 5 min</small></dd>"));
  report.snapshot.relay.figures.oldest_commit = report.now - minutes(7);
  EXPECT_THAT(StatusText(report), HasSubstr("oldest event committed 7 min ago\n"));
  EXPECT_THAT(StatusText(Samples().at("standby")), Not(HasSubstr("oldest event")));
}

// If no slot was ever seen, Postgres may retain nothing.
TEST(StatusWordsTest, NoPromiseForASlotThatWasNeverSeen) {
  StatusReport report = Samples().at("starting");
  report.snapshot.relay.state = RelayState::kDegraded;
  EXPECT_THAT(SummaryOf(report),
              AllOf(HasSubstr("has not seen the slot"), Not(HasSubstr("none is lost"))));
}

TEST(ProgressTest, WordsNamePositionAgeAndDistance) {
  const WallTime now = testing::Samples().at("streaming").now;
  ProgressStatus progress{.topic = "p", .frontier = Lsn(0x100), .written = now - seconds(3)};
  progress.ahead_bytes = 0;
  EXPECT_EQ(ProgressWords(progress, now), "recorded up to 0/100 3 s ago, in topic p");
  progress.ahead_bytes = 4096;
  EXPECT_EQ(ProgressWords(progress, now),
            "recorded up to 0/100 3 s ago, 4.0 KiB behind what is acknowledged, in topic p");
}

TEST(ProgressTest, WordsSayWhatIsMissing) {
  EXPECT_EQ(ProgressWords({}, WallTime()), "not read yet");
  EXPECT_EQ(ProgressWords({.topic = "p"}, WallTime()), "no record in topic p");
  EXPECT_EQ(ProgressWords({.enabled = false, .topic = "p"}, WallTime()),
            "not recorded: this user may not use topic p");
}

TEST(ModeTest, WordsNameThePromise) {
  StatusReport report = testing::Samples().at("streaming");
  EXPECT_EQ(ModeWords(report),
            "slot: at least once; after a crash, unconfirmed events are published again");
  report.identity.mode = PipelineMode::kTopics;
  EXPECT_EQ(ModeWords(report),
            "topics: at least once; after a crash, events that the topics have are skipped");
  report.identity.mode = PipelineMode::kExactlyOnce;
  report.snapshot.relay.transactions = TransactionStatus{.state = TransactionState::kIdle};
  EXPECT_EQ(ModeWords(report),
            "exactly_once: exactly once for consumers that read committed records; no transaction "
            "is open; 0 committed since the start");
  report.snapshot.relay.state = RelayState::kStandby;
  EXPECT_EQ(ModeWords(report),
            "exactly_once: exactly once for consumers that read committed records");
}

TEST(TransactionTest, WordsNameTheTransaction) {
  const WallTime now = testing::Samples().at("streaming").now;
  TransactionStatus status;
  EXPECT_EQ(TransactionWords(status, now),
            "claiming the transactional id; 0 committed since the start");
  status = {.state = TransactionState::kOpen, .since = now - seconds(3), .committed = 1234};
  EXPECT_EQ(TransactionWords(status, now),
            "a transaction is open for 3 s; 1,234 committed since the start");
  status.state = TransactionState::kCommitting;
  EXPECT_EQ(TransactionWords(status, now),
            "committing a transaction that was opened 3 s ago; 1,234 committed since "
            "the start");
}

TEST(TransactionTest, FailureIsShownForAnHour) {
  const WallTime now = testing::Samples().at("streaming").now;
  TransactionStatus status{.state = TransactionState::kIdle,
                           .failure = Error(ErrorCode::kCommitInDoubt, "no answer"),
                           .failed = now - seconds(60)};
  EXPECT_EQ(TransactionWords(status, now),
            "no transaction is open; 0 committed since the start; the last failure "
            "was 1 min ago, WR-4022");
  status.failed = now - std::chrono::hours(1);
  EXPECT_EQ(TransactionWords(status, now), "no transaction is open; 0 committed since the start");
}

TEST(PruningTest, WordsNameWhatIsKept) {
  const WallTime now = testing::Samples().at("streaming").now;
  PruneStatus status{.pruned = 1234};
  EXPECT_EQ(PruningWords(status, now), "1,234 rows since the start; no complete pass yet");
  status.complete = now - seconds(20);
  status.last = {.kept = 2,
                 .oldest_kept = std::chrono::hours(48),
                 .partitions = {.created = {}, .dropped = {}, .problems = {{"p1", "why"}}}};
  status.paused = true;
  EXPECT_EQ(PruningWords(status, now),
            "1,234 rows since the start; last complete pass 20 s ago; 2 rows kept without proof, "
            "the oldest is 2 days old; partition p1: why; paused, because the slot is at risk or "
            "behind");
}

TEST(PruningTest, AnErrorIsAProblemUnlessTheStreamIsMissing) {
  StatusReport report = testing::Samples().at("streaming");
  report.snapshot.pruning = PruneStatus();
  EXPECT_TRUE(ProblemsOf(report).empty());
  report.snapshot.pruning->error = Error(ErrorCode::kPruneUnproven, "no stream");
  EXPECT_TRUE(ProblemsOf(report).empty());
  report.snapshot.pruning->error = Error(ErrorCode::kPruneDenied, "public.outbox");
  ASSERT_EQ(ProblemsOf(report).size(), 1u);
  EXPECT_EQ(CodeOf(ProblemsOf(report)[0].error), ErrorCode::kPruneDenied);
}

}  // namespace
}  // namespace walrelay

#include "status/status_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cctype>

#include "support/status_samples.h"
#include "walrelay/admin/v1/status.pb.h"

namespace walrelay {
namespace {

using admin::v1::Status;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusSample;

const std::map<std::string, StatusReport>& Samples() {
  static const auto samples = testing::StatusSamples();
  return samples;
}

// --- summary texts ---

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
  EXPECT_EQ(ToneOf(Samples().at("streaming")), Tone::kGood);
  EXPECT_EQ(ToneOf(Samples().at("catching_up")), Tone::kBusy);
  EXPECT_EQ(ToneOf(Samples().at("standby")), Tone::kBusy);
  EXPECT_EQ(ToneOf(Samples().at("degraded")), Tone::kWarning);
  EXPECT_EQ(ToneOf(Samples().at("blocked")), Tone::kBad);
  EXPECT_EQ(ToneOf(Samples().at("slot_almost_lost")), Tone::kBad);
}

TEST(StatusWordsTest, CatchingUpReportsBacklogAndTime) {
  EXPECT_EQ(SummaryOf(Samples().at("catching_up")),
            "Publishing a backlog of 3.0 GiB of WAL. Caught up in about 1 min 17 s.");
}

TEST(StatusWordsTest, WithoutARelayTheSlotShowsWhetherAnotherOneRuns) {
  StatusReport report = Samples().at("no_relay");
  EXPECT_THAT(SummaryOf(report), HasSubstr("no client reads the slot"));
  report.snapshot.slot->active = true;
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

std::string SlotText(const SlotSample& slot) {
  std::string text;
  for (const std::string& words : SlotWords(slot)) {
    text += words + "\n";
  }
  return text;
}

TEST(SlotWordsTest, ReportsRetainedWalAndTheReserve) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().safe_wal_bytes = 600 * testing::kMiB;
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
  sample.slot().safe_wal_bytes = -1;
  EXPECT_THAT(SlotText(sample.slot()), HasSubstr("The limit is reached"));
}

TEST(SlotWordsTest, OperatorsLimitIsReportedWithItsEffect) {
  StatusSample sample(RelayState::kStreaming);
  SlotSample& slot = sample.slot();
  slot.wal_bytes_per_second = 0;
  slot.budget = RetentionBudget{.bytes = 20 * testing::kMiB};
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
  slot.safe_wal_bytes.reset();
  EXPECT_THAT(SlotText(slot), Not(HasSubstr("no limit")));
}

TEST(SlotWordsTest, OperatorsLimitIsARiskOnlyIfTheSlotIsDropped) {
  StatusReport report = Samples().at("slot_almost_lost");
  report.snapshot.slot->budget = RetentionBudget{.bytes = static_cast<int64_t>(testing::kGiB)};
  EXPECT_EQ(HeadlineOf(report), "Slot retains too much");
  EXPECT_THAT(StatusPage(report), HasSubstr("limit 7.8 GiB"));
  report.snapshot.slot->budget->drop_slot = true;
  EXPECT_EQ(HeadlineOf(report), "Slot at risk");
}

TEST(SlotWordsTest, MissingLimitIsReportedAsARisk) {
  StatusSample sample(RelayState::kStreaming);
  sample.slot().safe_wal_bytes.reset();
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
  sample.slot().invalidation_reason = "wal_removed";
  EXPECT_THAT(SlotText(sample.slot()),
              AllOf(HasSubstr("invalidated the slot (wal_removed)"), Not(HasSubstr("retains"))));
}

std::string Unknowns(const StatusReport& report) {
  std::string text;
  for (const std::string& words : UnknownsOf(report)) {
    text += words + "\n";
  }
  return text;
}

TEST(StatusWordsTest, MissingChecksAreUnknown) {
  StatusReport report = Samples().at("streaming");
  EXPECT_EQ(Unknowns(report), "");
  report.snapshot.looks.publication = report.now - minutes(3);
  EXPECT_EQ(Unknowns(report), "Publication and tables: last checked 3 min ago.\n");
  EXPECT_EQ(ToneOf(report), Tone::kWarning);
  report.snapshot.looks = SamplerLooks();
  report.snapshot.looks.failure = Error(ErrorCode::kPostgresUnreachable, "x");
  EXPECT_EQ(Unknowns(report),
            "The slot: not checked since the start (WR-2001).\n"
            "Publication and tables: not checked since the start (WR-2001).\n");
  EXPECT_EQ(ToneOf(report), Tone::kWarning);
  EXPECT_THAT(StatusPage(report), HasSubstr("Publication and tables: not checked since"));
  EXPECT_THAT(StatusText(report), HasSubstr("unknown      The slot: not checked since"));
  EXPECT_EQ(Unknowns(Samples().at("no_relay")), "");
}

// Staleness is relative to the configured interval: a long interval is not a failure.
TEST(StatusWordsTest, ChecksBecomeStaleByTheConfiguredInterval) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.looks.slot = report.snapshot.looks.publication = report.now - minutes(20);
  report.snapshot.looks.interval = minutes(10);
  EXPECT_EQ(Unknowns(report), "");
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

TEST(StatusWordsTest, SpansAreRoundedForReading) {
  EXPECT_EQ(SpanWords(Micros(-5)), "0 µs");
  EXPECT_EQ(SpanWords(seconds(59)), "59 s");
  EXPECT_EQ(SpanWords(seconds(77)), "1 min 17 s");
  EXPECT_EQ(SpanWords(minutes(59)), "59 min");
  EXPECT_EQ(SpanWords(hours(47)), "47 h");
  EXPECT_EQ(SpanWords(hours(72)), "3 days");
}

TEST(StatusWordsTest, NumbersAreGrouped) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1'000), "1,000");
  EXPECT_EQ(Grouped(1'234'567), "1,234,567");
}

TEST(PaceTest, PaceIsThatOfTheLastMinute) {
  std::vector<HistoryPoint> history(
      6, {.span = seconds(10), .events = 100, .median = Micros(7), .slowest = Micros(9)});
  history.insert(history.begin(), {.span = seconds(10), .events = 9'000, .median = seconds(1)});
  const auto pace = PaceOf(history);
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace->events_per_second, 10);
  EXPECT_EQ(pace->median, Micros(7));
  EXPECT_EQ(PaceOf({}), std::nullopt);
}

TEST(PaceTest, StagesAreReportedAndTheWritersShareIsNamed) {
  const auto words = [](std::optional<StageMedians> stages) {
    return StageWords(*PaceOf({{.span = seconds(10), .stages = stages}}));
  };
  EXPECT_EQ(words(std::nullopt), "");
  EXPECT_EQ(words(StageMedians{Micros(310), Micros(95), Micros(400)}),
            "Postgres 310 µs, walrelay and the network 95 µs, Kafka 400 µs");
  EXPECT_THAT(words(StageMedians{milliseconds(110), Micros(95), Micros(400)}),
              HasSubstr("synchronous_commit = off"));
}

// --- JSON ---

Status Parsed(const StatusReport& report) {
  Status status;
  const auto result = google::protobuf::util::JsonStringToMessage(StatusJson(report), &status);
  EXPECT_TRUE(result.ok()) << result.ToString() << "\n" << StatusJson(report);
  return status;
}

TEST(StatusJsonTest, EverySampleIsParsedByTheGeneratedType) {
  for (const auto& [name, report] : Samples()) {
    const Status status = Parsed(report);
    EXPECT_EQ(status.slot_name(), name == "hostile" ? status.slot_name() : "walrelay");
    EXPECT_EQ(status.has_relay(), name != "no_relay");
    EXPECT_EQ(status.history_size(), static_cast<int>(report.snapshot.history.size()));
  }
}

TEST(StatusJsonTest, StatesAndRisksMatchTheSchema) {
  StatusReport report = Samples().at("streaming");
  for (const RelayState state :
       {RelayState::kStarting, RelayState::kStandby, RelayState::kCatchingUp,
        RelayState::kStreaming, RelayState::kDegraded, RelayState::kBlocked, RelayState::kDraining,
        RelayState::kStopped}) {
    report.snapshot.relay.state = state;
    EXPECT_EQ(Status::State_Name(Parsed(report).relay().state()), NameOf(state));
  }
  for (const SlotRisk risk : {SlotRisk::kNone, SlotRisk::kNotice, SlotRisk::kWarning,
                              SlotRisk::kCritical, SlotRisk::kLost}) {
    report.snapshot.slot->risk = risk;
    EXPECT_EQ(Parsed(report).slot().risk(), Status::none + static_cast<int>(risk));
  }
}

TEST(StatusJsonTest, FiguresMatchTheReport) {
  const Status status = Parsed(Samples().at("slot_almost_lost"));
  EXPECT_FALSE(status.ready());
  EXPECT_EQ(status.relay().events_acknowledged(), 4'182'907u);
  EXPECT_EQ(status.relay().records_in_flight(), 10'000u);
  EXPECT_EQ(status.slot().retained_bytes(), 7 * testing::kGiB + 800 * testing::kMiB);
  EXPECT_EQ(status.slot().max_retained_bytes(), 8 * testing::kGiB);
  EXPECT_EQ(status.slot().seconds_to_loss(), 90);
  EXPECT_EQ(status.slot().held_by().application(), "nightly export");
  EXPECT_EQ(status.slot().held_by().age_seconds(), 7500);
  EXPECT_EQ(status.problems(0).code(), "WR-2108");
  EXPECT_EQ(status.past_problems(0).times(), 312u);
  EXPECT_EQ(status.now().seconds() - status.relay().oldest_unacknowledged().seconds(), 52 * 60);
}

TEST(StatusJsonTest, OperatorsLimitIsSeparateFromTheServersLimit) {
  StatusReport report = Samples().at("streaming");
  EXPECT_FALSE(Parsed(report).slot().has_budget_bytes());
  report.snapshot.slot->budget = RetentionBudget{.bytes = 5'000, .drop_slot = true};
  const Status status = Parsed(report);
  EXPECT_EQ(status.slot().budget_bytes(), 5'000u);
  EXPECT_TRUE(status.slot().budget_drops_slot());
  EXPECT_EQ(status.slot().max_retained_bytes(), 8 * testing::kGiB);
}

TEST(StatusJsonTest, ChecksHaveTimestamps) {
  StatusReport report = Samples().at("streaming");
  EXPECT_EQ(Parsed(report).now().seconds() - Parsed(report).publication_checked().seconds(), 2);
  EXPECT_TRUE(Parsed(report).has_slot_checked());
  EXPECT_FALSE(Parsed(report).has_check_failure());
  EXPECT_FALSE(Parsed(report).relay().has_cut_off_since());
  report.snapshot.looks = SamplerLooks();
  report.snapshot.looks.failure = Error(ErrorCode::kPostgresUnreachable, "x");
  report.snapshot.relay.figures.cut_off_since = report.now - minutes(1);
  const Status status = Parsed(report);
  EXPECT_FALSE(status.has_publication_checked());
  EXPECT_EQ(status.check_failure().code(), "WR-2001");
  EXPECT_EQ(status.now().seconds() - status.relay().cut_off_since().seconds(), 60);
}

TEST(StatusJsonTest, UnknownValuesAreAbsent) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.slot->safe_wal_bytes.reset();
  report.snapshot.slot->max_retained_bytes = -1;
  const Status status = Parsed(report);
  EXPECT_FALSE(status.slot().has_max_retained_bytes());
  EXPECT_FALSE(status.slot().has_safe_bytes());
  EXPECT_FALSE(status.slot().has_seconds_to_loss());
  EXPECT_FALSE(status.relay().has_oldest_unacknowledged());
  EXPECT_FALSE(Parsed(Samples().at("starting")).has_slot());
}

// --- page and terminal ---

TEST(StatusPageTest, ExternalTextDoesNotBecomeMarkup) {
  const std::string page = StatusPage(Samples().at("hostile"));
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;document.title=&#39;owned&#39;"),
                          Not(HasSubstr("<script>document")), Not(HasSubstr("<img")),
                          Not(HasSubstr("\x1b"))));
}

TEST(StatusPageTest, PageIsOneFileAndFetchesNothing) {
  for (const auto& [name, report] : Samples()) {
    const std::string page = StatusPage(report);
    for (const char* part : {"<link", "src=\"", "http://", "https://", "url(", "@import"}) {
      EXPECT_THAT(page, Not(HasSubstr(part))) << name;
    }
    EXPECT_LT(page.size(), 100'000u) << name;
  }
}

TEST(StatusPageTest, ProblemsHaveRemedies) {
  EXPECT_THAT(StatusPage(Samples().at("blocked")),
              AllOf(HasSubstr("WR-3004"), HasSubstr("aggregate_id is NULL"),
                    HasSubstr("Make the column NOT NULL"), HasSubstr("xid=918273")));
}

TEST(StatusTextTest, TextHasTheSameContent) {
  EXPECT_THAT(StatusText(Samples().at("slot_almost_lost")),
              AllOf(HasSubstr("Slot at risk. "), HasSubstr("oldest event committed 52 min ago"),
                    HasSubstr("WR-2108 the slot is close to its WAL limit"),
                    HasSubstr("what to do   Fix the cause of the delay")));
}

TEST(StatusTextTest, TextEscapesControlCharacters) {
  for (const char c : StatusText(Samples().at("hostile"))) {
    EXPECT_FALSE(std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\n');
  }
}

}  // namespace
}  // namespace walrelay

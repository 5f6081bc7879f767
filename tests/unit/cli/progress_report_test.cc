#include "cli/progress_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

WallTime At(int64_t microseconds) {
  return WallTime(Micros(microseconds));
}

Progress Sample() {
  return {.pipeline = "shop.walrelay",
          .system_id = "7301",
          .timeline = 2,
          .ancestors = {{.timeline = 1, .end = Lsn(0x500)}},
          .database = "shop",
          .slot = "walrelay",
          .generation = 3,
          .frontier = Lsn(0x16B3748),
          .settled_before = Lsn(0x16B3600),
          .last = {.commit_lsn = Lsn(0x16B3700), .xid = 742, .commit_time = At(1)},
          .horizons = {{.xid = 4'294'968'038, .insert_lsn = Lsn(0x16B3600), .taken = At(2)}},
          .published_from = {.xid = 4'294'967'400, .taken = At(1)},
          .seen_publication =
              SeenPublication{.name = "outbox",
                              .state = {.identity = {.oid = 16400, .xmin = 700, .tables = {}},
                                        .before = Lsn(0x16B3500),
                                        .after = Lsn()}},
          .run_id = "run",
          .sequence = 7,
          .written = At(1'795'000'000'000'123),
          .version = "0.1.0"};
}

TEST(ProgressReportTest, TextHasOneLineForEachMember) {
  EXPECT_EQ(
      ProgressText(Sample(), "walrelay.progress.shop.walrelay"),
      "pipeline         shop.walrelay\n"
      "topic            walrelay.progress.shop.walrelay\n"
      "server           system 7301, timeline 2; timeline 1 ended at 0/500\n"
      "database         shop\n"
      "slot             walrelay\n"
      "frontier         0/16B3748\n"
      "last published   transaction 742, COMMIT at 0/16B3700, 1970-01-01T00:00:00.000001Z\n"
      "publication      outbox, as read at 0/16B3500\n"
      "horizons from    rows with xmin 4294967400 or greater, 1970-01-01T00:00:00.000001Z\n"
      "horizon          rows with xmin before 4294968038, since 0/16B3600, "
      "1970-01-01T00:00:00.000002Z\n"
      "generation       3\n"
      "written          2026-11-18T11:06:40.000123Z by walrelay 0.1.0, record 7 of run run\n");
}

TEST(ProgressReportTest, AGapThatIsHeldIsShown) {
  Progress record = Sample();
  record.held = HeldGap{.code = ErrorCode::kServerBehind,
                        .id = "2202-5f3a9c01",
                        .reason = "its WAL ends at 0/100",
                        .from = Lsn(0x100),
                        .to = Lsn(0x200)};
  EXPECT_THAT(
      ProgressText(record, "t"),
      HasSubstr("held             gap 2202-5f3a9c01: WR-2202: its WAL ends at 0/100; events "
                "between 0/100 and 0/200 may be missing\n"));
  EXPECT_THAT(ProgressJson(record, "t"),
              HasSubstr(R"("held":{"code":"WR-2202","id":"2202-5f3a9c01",)"
                        R"("reason":"its WAL ends at 0/100","from":"0/100","to":"0/200"})"));
}

TEST(ProgressReportTest, JsonIsOneLine) {
  EXPECT_EQ(
      ProgressJson(Sample(), "t"),
      R"({"topic":"t","record":{"pipeline":"shop.walrelay","system_id":"7301","timeline":2,)"
      R"("ancestors":[{"timeline":1,"end":"0/500"}],"database":"shop",)"
      R"("database_oid":0,"slot":"walrelay","cluster_id":"",)"
      R"("generation":3,"held":null,"frontier":"0/16B3748","settled_before":"0/16B3600",)"
      R"("last_transaction":{"commit_lsn":"0/16B3700",)"
      R"("transaction_id":742,"commit_time":"1970-01-01T00:00:00.000001Z"},"partial_transaction":null,)"
      R"("published_from":{"xid":4294967400,"taken":"1970-01-01T00:00:00.000001Z"},"horizons":)"
      R"([{"xid":4294968038,"insert_lsn":"0/16B3600","taken":"1970-01-01T00:00:00.000002Z"}],)"
      R"("seen_publication":{"name":"outbox","oid":16400,"before":"0/16B3500"},)"
      R"("run_id":"run","sequence":7,)"
      R"("written":"2026-11-18T11:06:40.000123Z","version":"0.1.0"}})"
      "\n");
}

TEST(ProgressReportTest, JsonOfNoRecordIsNull) {
  EXPECT_EQ(ProgressJson(std::nullopt, "t"), "{\"topic\":\"t\",\"record\":null}\n");
}

TEST(ProgressReportTest, RecordWithoutATransactionSaysSo) {
  Progress record = Sample();
  record.last = {};
  record.horizons.clear();
  record.published_from = {};
  EXPECT_THAT(ProgressText(record, "t"),
              HasSubstr("last published   not known; events before 0/16B3600 are\n"));
  EXPECT_THAT(ProgressText(record, "t"), Not(HasSubstr("horizon")));
  EXPECT_THAT(
      ProgressJson(record, "t"),
      HasSubstr(
          R"("last_transaction":null,"partial_transaction":null,"published_from":null,"horizons":[])"));
  record.settled_before = {};
  EXPECT_THAT(ProgressText(record, "t"),
              HasSubstr("last published   not known; nothing is known of earlier events\n"));
}

TEST(ProgressReportTest, TransactionThatIsPublishedInPartIsShown) {
  Progress record = Sample();
  record.partial = {.transaction = {.commit_lsn = Lsn(0x16B3800), .xid = 743, .commit_time = At(3)},
                    .row_lsn = Lsn(0x16B3700),
                    .row_index = 5};
  EXPECT_THAT(ProgressText(record, "t"),
              HasSubstr("in part          up to row 5 at 0/16B3700, of transaction 743, "
                        "COMMIT at 0/16B3800, 1970-01-01T00:00:00.000003Z\n"));
  EXPECT_THAT(ProgressJson(record, "t"),
              HasSubstr(R"("partial_transaction":{"commit_lsn":"0/16B3800","transaction_id":743,)"
                        R"("commit_time":"1970-01-01T00:00:00.000003Z",)"
                        R"("row_lsn":"0/16B3700","row_index":5})"));
}

TEST(ProgressReportTest, HostileRecordIsEscaped) {
  Progress record = Sample();
  record.pipeline = "a\nb\x1b[2J";
  record.written = WallTime::max();
  EXPECT_THAT(ProgressText(record, "t"), HasSubstr("pipeline         a\\x0ab\\x1b[2J\n"));
  EXPECT_THAT(ProgressText(record, "t"), HasSubstr("9223372036854775807 us"));
  record.written = WallTime::min();
  const std::string json = ProgressJson(record, "t");
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_THAT(json, HasSubstr("-9223372036854775808 us"));
}

}  // namespace
}  // namespace walrelay

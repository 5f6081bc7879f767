#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

#include "fakes/status_samples.h"
#include "status/status_report.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Samples;

TEST(StatusTextTest, TextHasTheSameContent) {
  EXPECT_THAT(StatusText(Samples().at("slot_almost_lost")),
              AllOf(HasSubstr("Slot at risk. "),
                    HasSubstr("  source       db1.example/shop, slot walrelay\n"),
                    HasSubstr("oldest event committed 52 min ago"),
                    HasSubstr("WR-2108 the slot is close to its WAL limit"),
                    HasSubstr("what to do   Fix the cause of the delay")));
}

TEST(StatusTextTest, ProgressHasALine) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusText(report), Not(HasSubstr("  progress ")));
  report.snapshot.relay.progress = ProgressStatus{.topic = "p", .frontier = Lsn(0x100)};
  EXPECT_THAT(StatusText(report), HasSubstr("  progress     recorded up to 0/100, in topic p\n"));
  report.snapshot.relay.state = RelayState::kStandby;
  EXPECT_THAT(StatusText(report), Not(HasSubstr("  progress ")));
}

TEST(StatusTextTest, SkippedOriginsHaveALine) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusText(report), Not(HasSubstr("  origin ")));
  report.snapshot.relay.figures.skipped_origin_rows = 1204;
  EXPECT_THAT(StatusText(report), HasSubstr("  origin       rows that replication wrote are not "
                                            "published: 1,204 skipped\n"));
}

TEST(StatusTextTest, LargeRowThatArrivesHasALineInEachFormat) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusText(report), Not(HasSubstr("  arriving ")));
  EXPECT_THAT(StatusJson(report), Not(HasSubstr("incoming_bytes")));
  report.snapshot.relay.figures.incoming_bytes = 100 << 20;
  EXPECT_THAT(StatusText(report), HasSubstr("  arriving     a row of up to 100.0 MiB\n"));
  EXPECT_THAT(StatusJson(report), HasSubstr("\"incoming_bytes\":104857600"));
  EXPECT_THAT(StatusPage(report), HasSubstr("Arriving: a row of up to 100.0 MiB"));
}

TEST(StatusTextTest, ModeHasALine) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusText(report), HasSubstr("  mode         slot: at least once; "));
  report.identity.mode = PipelineMode::kTopics;
  report.snapshot.relay.state = RelayState::kStandby;
  EXPECT_THAT(StatusText(report), HasSubstr("  mode         topics: at least once; "));
}

TEST(StatusTextTest, TablesHaveLines) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(
      StatusText(report),
      HasSubstr("  tables       public.outbox: 84310 rows, none waits to be published.\n"
                "               44.0 MiB with indexes, about 5.3 MiB hold no row, 1204 dead rows, "
                "last vacuum 37 min ago.\n"));
  report.snapshot.tables.clear();
  EXPECT_THAT(StatusText(report), Not(HasSubstr("  tables ")));
}

TEST(StatusTextTest, AProblemOfATableHasTheCommandToRun) {
  EXPECT_THAT(StatusText(Samples().at("slot_almost_lost")),
              AllOf(HasSubstr("at least 190400 not published"),
                    HasSubstr("  what to do   VACUUM (VERBOSE, ANALYZE) \"public\".\"outbox\";"),
                    HasSubstr("  what to do   VACUUM (FULL, ANALYZE) \"public\".\"outbox\";")));
}

TEST(StatusTextTest, TextEscapesControlCharacters) {
  for (const char c : StatusText(Samples().at("hostile"))) {
    EXPECT_FALSE(std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\n');
  }
}

}  // namespace
}  // namespace walrelay

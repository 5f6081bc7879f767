#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_samples.h"
#include "status/status_report.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Samples;

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

TEST(StatusPageTest, ProgressIsShownIfItIsRecorded) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusPage(report), Not(HasSubstr("Progress: ")));
  report.snapshot.relay.progress = ProgressStatus{.topic = "p", .frontier = Lsn(0x100)};
  EXPECT_THAT(StatusPage(report), HasSubstr("Progress: recorded up to 0/100, in topic p."));
}

TEST(StatusPageTest, ModeIsShown) {
  StatusReport report = Samples().at("streaming");
  EXPECT_THAT(StatusPage(report), HasSubstr("Mode slot: at least once; "));
  report.identity.mode = PipelineMode::kExactlyOnce;
  EXPECT_THAT(StatusPage(report), HasSubstr("Mode exactly_once: exactly once for consumers that "));
}

TEST(StatusPageTest, ProblemsHaveRemedies) {
  EXPECT_THAT(StatusPage(Samples().at("blocked")),
              AllOf(HasSubstr("WR-3004"), HasSubstr("aggregate_id is NULL"),
                    HasSubstr("Make the column NOT NULL"), HasSubstr("xid=918273")));
}

}  // namespace
}  // namespace walrelay

#include "doctor/table_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace walrelay {
namespace {

using ::testing::HasSubstr;

class TableChecksTest : public ::testing::Test {
 protected:
  TableChecksTest() {
    table_ = {.schema = "app",
              .name = "Out box",
              .sql_name = R"("app"."Out box")",
              .taken = WallTime(std::chrono::hours(1000)),
              .rows = RowCount{.rows = 3},
              .unpublished = RowCount()};
  }
  // The finding of the check; one without text if there is none.
  Finding Found(std::string_view check) const {
    Findings findings{nullptr};
    CheckTable(table_, "relay\"r", findings);
    const auto found = std::find_if(findings.all().begin(), findings.all().end(),
                                    [&](const Finding& finding) { return finding.check == check; });
    return found == findings.all().end() ? Finding() : *found;
  }

  TableReading table_;
};

TEST_F(TableChecksTest, AHealthyTable) {
  for (const std::string_view check : {"table.readable", "table.unpublished", "table.bloat"}) {
    EXPECT_EQ(Found(check).severity, Severity::kOk) << check;
    EXPECT_THAT(Found(check).text, HasSubstr("app.Out box")) << check;
  }
  EXPECT_EQ(Found("table.dead_rows").text, "");
}

TEST_F(TableChecksTest, TheMissingPrivilegeIsOneFindingWithItsStatement) {
  table_.unread = RowsUnread::kNoSelect;
  table_.unpublished.reset();
  EXPECT_EQ(Found("table.readable").severity, Severity::kWarning);
  EXPECT_EQ(Found("table.readable").remedy, R"(GRANT USAGE ON SCHEMA "app" TO "relay""r"; )"
                                            R"(GRANT SELECT ON "app"."Out box" TO "relay""r";)");
  EXPECT_EQ(Found("table.unpublished").text, "");
}

TEST_F(TableChecksTest, RowLevelSecurity) {
  table_.unread = RowsUnread::kPolicy;
  EXPECT_THAT(Found("table.readable").remedy, HasSubstr("BYPASSRLS"));
}

TEST_F(TableChecksTest, AFailedCountIsReported) {
  table_.unread = RowsUnread::kFailed;
  table_.failure = Error(ErrorCode::kPostgresError, "cancelled");
  EXPECT_THAT(Found("table.readable").text, HasSubstr("not counted: cancelled"));
}

TEST_F(TableChecksTest, UnpublishedRowsAreAWarning) {
  table_.unpublished = {.rows = 2, .bound = RowBound::kAtMost};
  EXPECT_EQ(Found("table.unpublished").severity, Severity::kWarning);
  EXPECT_THAT(Found("table.unpublished").text, HasSubstr("at most 2 not published"));
}

TEST_F(TableChecksTest, WasteHasTheCommand) {
  table_.size = {.heap_bytes = uint64_t{1} << 30, .dead_rows = 100'000, .row_bytes = 100};
  EXPECT_THAT(Found("table.dead_rows").remedy, HasSubstr("VACUUM (VERBOSE, ANALYZE)"));
  EXPECT_THAT(Found("table.bloat").remedy, HasSubstr("VACUUM (FULL, ANALYZE)"));
}

}  // namespace
}  // namespace walrelay

#include "cli/dead_letter_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config/source.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DeadLetterEntry Entry() {
  DeadLetterEntry entry{.id = {2, 42}, .key = "k\x1b[31m", .time = WallTime(Micros(0))};
  entry.letter = StoredDeadLetter{
      .code = "WR-3006", .reason = "too\nlarge", .schema = "public", .table = "outbox"};
  entry.letter->columns = {
      {.name = "id", .type_oid = 20, .value = "7"},
      {.name = "payload", .type_oid = 17, .value = "\xff", .binary = true, .cut_from = 1000},
      {.name = "note", .type_oid = 25, .value = std::nullopt}};
  return entry;
}

TEST(DeadLetterReportTest, LineHasIdCodeAndRowEscaped) {
  DeadLetterEntry entry = Entry();
  EXPECT_EQ(DeadLetterLine(entry, SourceConfig()),
            "2/42  1970-01-01T00:00:00.000000Z  WR-3006  public.outbox  id=7 key=k\\x1b[31m  "
            "truncated  too\\x0alarge");
  entry.retried = true;
  entry.key.reset();
  EXPECT_THAT(DeadLetterLine(entry, SourceConfig()), HasSubstr("key=-  truncated  retried  too"));
}

TEST(DeadLetterReportTest, TextHasTheRowAndMarksTruncatedValues) {
  EXPECT_THAT(DeadLetterText(Entry()),
              AllOf(HasSubstr("code         WR-3006\n"), HasSubstr("  id (type 20): 7\n"),
                    HasSubstr("  payload (type 17, binary): \\xff\n"),
                    HasSubstr("(truncated: 1 of 1000 bytes)\n"),
                    HasSubstr("  note (type 25): NULL\n"), Not(HasSubstr("\x1b"))));
}

TEST(DeadLetterReportTest, JsonHasBytesAsBase64) {
  const std::string json = DeadLetterJson(Entry(), SourceConfig(), /*with_row=*/true);
  EXPECT_THAT(json, AllOf(HasSubstr(R"("id":"2/42")"), HasSubstr(R"("row_id":"7")"),
                          HasSubstr(R"("value_base64":"/w==","binary":true,"cut_from":1000)"),
                          HasSubstr(R"("value":null)")));
  EXPECT_THAT(DeadLetterJson(Entry(), SourceConfig(), /*with_row=*/false),
              Not(HasSubstr("columns")));
}

TEST(DeadLetterReportTest, OtherRecordsAreNamed) {
  DeadLetterEntry entry = Entry();
  entry.letter.reset();
  EXPECT_THAT(DeadLetterLine(entry, SourceConfig()), HasSubstr("2/42"));
  EXPECT_THAT(DeadLetterText(entry), HasSubstr("not a dead letter"));
  EXPECT_THAT(DeadLetterJson(entry, SourceConfig(), true), HasSubstr(R"("dead_letter":false)"));
}

}  // namespace
}  // namespace walrelay

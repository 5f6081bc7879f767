#include "findings/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class FindingsTest : public ::testing::Test {
 protected:
  std::vector<std::string> seen_;
  Findings findings_{[this](const Finding& finding) { seen_.push_back(finding.text); }};
};

TEST_F(FindingsTest, EachFindingIsReportedImmediately) {
  findings_.Good("slot.reader", "one");
  EXPECT_THAT(seen_, ElementsAre("one"));
  findings_.Warn("slot.reader", "two", "do");
  EXPECT_THAT(seen_, ElementsAre("one", "two"));
}

TEST_F(FindingsTest, WorstIsTheHighestSeverity) {
  EXPECT_EQ(findings_.worst(), Severity::kOk);
  findings_.Warn("slot.reader", "two", "do");
  findings_.Good("slot.reader", "one");
  EXPECT_EQ(findings_.worst(), Severity::kWarning);
  findings_.Problem("postgres.wal_level", Error(ErrorCode::kWalLevel, "wal_level is replica"));
  findings_.Good("slot.reader", "one");
  EXPECT_EQ(findings_.worst(), Severity::kProblem);
}

TEST_F(FindingsTest, ProblemHasCodeAndRemedyOfItsError) {
  findings_.Problem("postgres.wal_level", Error(ErrorCode::kWalLevel, "wal_level is replica"));
  findings_.Problem("postgres.wal_level",
                    Error(ErrorCode::kNoReplicationRole, "u", "ALTER ROLE u"));
  EXPECT_EQ(
      FindingText(findings_.all()[0], false),
      "problem WR-2008 wal_level is below logical: wal_level is replica "
      "[postgres.wal_level]\n"
      "          ALTER SYSTEM SET wal_level = 'logical'; then restart Postgres. A managed service "
      "has a parameter for it, which walrelay setup --platform NAME prints.\n");
  EXPECT_EQ(findings_.all()[1].remedy, "ALTER ROLE u");
}

TEST_F(FindingsTest, ControlCharactersOfServersAreNotPrinted) {
  findings_.Warn("slot.reader", "name \x1b[2J", "type \x1b[2J");
  EXPECT_THAT(FindingText(findings_.all()[0], false), Not(HasSubstr("\x1b")));
}

TEST_F(FindingsTest, JsonHasTheDocumentedFields) {
  findings_.Good("slot.reader", "one \"quoted\"");
  findings_.Problem("postgres.wal_level", Error(ErrorCode::kWalLevel, "x\ny"));
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(FindingsJson(findings_)).get(json), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(json["worst"]), "problem");
  EXPECT_EQ(std::string_view(json["findings"].at(0)["text"]), "one \"quoted\"");
  EXPECT_NE(json["findings"].at(0)["remedy"].error(), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(json["findings"].at(1)["code"]), "WR-2008");
  EXPECT_EQ(std::string_view(json["findings"].at(1)["check"]), "postgres.wal_level");
}

}  // namespace
}  // namespace walrelay

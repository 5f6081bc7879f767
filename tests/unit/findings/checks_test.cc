#include "findings/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fakes/source_tree.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

TEST(ChecksTest, DocumentationMatchesTheProgram) {
  EXPECT_TRUE(testing::SourceFile("docs/reference/doctor.md") == CheckReference())
      << "outdated: run scripts/dev docs";
}

TEST(ChecksTest, NamesAreUniqueAndTextsAreSentences) {
  std::set<std::string_view> names;
  for (const CheckEntry& entry : kChecks) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_THAT(std::string(entry.name), HasSubstr("."));
    for (const std::string_view text : {entry.examines, entry.why, entry.remedy}) {
      const bool is_sentence_or_sql = text.ends_with('.') || text.ends_with(';');
      EXPECT_TRUE(is_sentence_or_sql) << entry.name << ": " << text;
    }
  }
}

// The reference has one heading per group.
TEST(ChecksTest, ChecksOfAGroupAreAdjacent) {
  std::set<std::string_view> closed;
  std::string_view group;
  for (const CheckEntry& entry : kChecks) {
    const std::string_view own = entry.name.substr(0, entry.name.find('.'));
    if (own != group) {
      EXPECT_TRUE(closed.insert(own).second) << entry.name;
      group = own;
    }
  }
}

TEST(ChecksTest, CheckIsFoundByNameWithAndWithoutPrefix) {
  for (const CheckEntry& entry : kChecks) {
    EXPECT_EQ(FindCheck(entry.name), &entry);
    EXPECT_EQ(FindCheck("doctor." + std::string(entry.name)), &entry);
  }
  for (const char* text : {"", "slot", "slot.", "doctor.", "slot.retained "}) {
    EXPECT_EQ(FindCheck(text), nullptr) << text;
  }
}

}  // namespace
}  // namespace walrelay

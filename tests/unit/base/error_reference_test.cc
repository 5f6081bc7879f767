#include "base/error_reference.h"

#include <gtest/gtest.h>

#include "fakes/source_tree.h"

namespace walrelay {
namespace {

TEST(ErrorReferenceTest, DocumentationMatchesTheProgram) {
  EXPECT_TRUE(testing::SourceFile("docs/errors.md") == ErrorReference())
      << "outdated: run scripts/dev docs";
}

TEST(ErrorReferenceTest, EveryCodeHasAHeading) {
  const std::string reference = ErrorReference();
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    EXPECT_NE(reference.find("### " + ToString(entry.code)), std::string::npos);
  }
}

TEST(ErrorReferenceTest, CodesAreFoundInEveryNotation) {
  for (const char* text : {"WR-2101", "wr-2101", "2101"}) {
    EXPECT_EQ(FindErrorCode(text), ErrorCode::kSlotMissing);
  }
  for (const char* text : {"", "WR-", "WR-9999", "2101x", "-1"}) {
    EXPECT_EQ(FindErrorCode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace walrelay

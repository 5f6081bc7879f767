#include "base/quote.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(QuoteTest, IdentifiersAreAlwaysQuoted) {
  EXPECT_EQ(QuoteIdentifier("outbox"), R"("outbox")");
  EXPECT_EQ(QuoteIdentifier("Order"), R"("Order")");
  EXPECT_EQ(QuoteIdentifier(""), R"("")");
}

TEST(QuoteTest, IdentifiersCannotEndEarly) {
  EXPECT_EQ(QuoteIdentifier(R"(a"; DROP TABLE b; --)"), R"("a""; DROP TABLE b; --")");
  EXPECT_EQ(QuoteIdentifier(R"("""")"), R"("""""""""")");
  EXPECT_EQ(QuoteIdentifier(R"(a\"b)"), R"("a\""b")");
  EXPECT_EQ(QuoteIdentifier("it's"), R"("it's")");
}

TEST(QuoteTest, QualifiedNameHasTwoIdentifiers) {
  EXPECT_EQ(QuoteQualified("a.b", "c\"d"), R"("a.b"."c""d")");
}

TEST(QuoteTest, LiteralsCannotEndEarly) {
  EXPECT_EQ(QuoteLiteral("walrelay"), "'walrelay'");
  EXPECT_EQ(QuoteLiteral(""), "''");
  EXPECT_EQ(QuoteLiteral("a'; DROP TABLE b; --"), "'a''; DROP TABLE b; --'");
  EXPECT_EQ(QuoteLiteral(R"(a"b)"), R"('a"b')");
}

// Independent of standard_conforming_strings.
TEST(QuoteTest, BackslashesInLiteralsAreEscaped) {
  EXPECT_EQ(QuoteLiteral(R"(a\b)"), R"(E'a\\b')");
  EXPECT_EQ(QuoteLiteral(R"(\')"), R"(E'\\''')");
}

}  // namespace
}  // namespace walrelay

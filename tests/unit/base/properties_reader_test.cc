#include "base/properties_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fakes/allocation_counter.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> Read(std::string_view text) {
  Arena arena;
  PropertiesReader reader(text, arena);
  std::vector<std::pair<std::string, std::string>> out;
  while (const auto property = reader.Next()) {
    EXPECT_TRUE(property->well_formed) << text;
    out.emplace_back(property->name, property->value);
  }
  return out;
}

TEST(PropertiesReaderTest, LineContinuesAnywhere) {
  EXPECT_THAT(Read("a\\\n  b=c\\\r\n\t d"), ElementsAre(Pair("ab", "cd")));
  EXPECT_THAT(Read("a \\\n  = \\\r  b"), ElementsAre(Pair("a", "b")));
  EXPECT_THAT(Read("a=b\\\n\nc=d\\"), ElementsAre(Pair("a", "b"), Pair("c", "d")));
}

TEST(PropertiesReaderTest, EscapedSeparatorsBelongToTheName) {
  EXPECT_THAT(Read("a\\ b\\=\\:c=\\ d"), ElementsAre(Pair("a b=:c", " d")));
}

TEST(PropertiesReaderTest, IncompleteCodeUnitIsReported) {
  Arena arena;
  PropertiesReader reader("\n# x\r\na=\\u12", arena);
  const auto property = reader.Next();
  ASSERT_TRUE(property);
  EXPECT_FALSE(property->well_formed);
  EXPECT_EQ(property->value, "u12");
  EXPECT_EQ(reader.line(), 3u);
}

// A row may contain any number of escapes.
TEST(PropertiesReaderTest, MemoryIsBoundedByTheText) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "\\a=b\n";
  }
  Arena arena;
  const size_t bytes = testing::PeakBytesDuring([&] {
    PropertiesReader reader(text, arena);
    while (reader.Next()) {
    }
  });
  EXPECT_LT(bytes, text.size() + 64 * 1024);
}

}  // namespace
}  // namespace walrelay

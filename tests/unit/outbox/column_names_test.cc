#include "outbox/column_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace walrelay {
namespace {

constexpr ColumnUse kUses[] = {
    ColumnUse::kId,          ColumnUse::kAggregateType, ColumnUse::kTopic,  ColumnUse::kAggregateId,
    ColumnUse::kEventType,   ColumnUse::kPayload,       ColumnUse::kTime,   ColumnUse::kTraceId,
    ColumnUse::kTraceparent, ColumnUse::kTracestate,    ColumnUse::kHeader, ColumnUse::kMark,
    ColumnUse::kState,       ColumnUse::kEncoding};

TEST(NormalizedNameTest, StylesOfNamesAreEqual) {
  for (const char* name : {"aggregateId", "AggregateID", "aggregate_id", "AGGREGATE-ID",
                           "aggregate id", "aggregateid"}) {
    EXPECT_EQ(NormalizedName(name), "aggregateid") << name;
  }
  EXPECT_EQ(NormalizedName("größe_2"), "größe2");
  EXPECT_EQ(NormalizedName("_-"), "");
}

// A name in another form would never be found.
TEST(UsualNamesTest, NamesAreNormalizedAndUnique) {
  for (const ColumnUse use : kUses) {
    std::set<std::string_view> names;
    for (const std::string_view name : UsualNames(use)) {
      EXPECT_EQ(NormalizedName(name), name);
      EXPECT_TRUE(names.insert(name).second) << name;
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(UsualNamesTest, DefaultNamesOfWalrelayAndDebeziumAreKnown) {
  const auto knows = [](ColumnUse use, std::string_view name) {
    return std::ranges::count(UsualNames(use), NormalizedName(name)) == 1;
  };
  EXPECT_TRUE(knows(ColumnUse::kId, "id"));
  EXPECT_TRUE(knows(ColumnUse::kAggregateType, "aggregate_type"));
  EXPECT_TRUE(knows(ColumnUse::kAggregateId, "aggregateid"));
  EXPECT_TRUE(knows(ColumnUse::kEventType, "type"));
  EXPECT_TRUE(knows(ColumnUse::kPayload, "payload"));
  EXPECT_TRUE(knows(ColumnUse::kTraceId, "trace_id"));
}

}  // namespace
}  // namespace walrelay

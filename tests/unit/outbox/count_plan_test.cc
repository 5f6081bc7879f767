#include "outbox/count_plan.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr int kPostgres13 = 130022;
constexpr int kPostgres14 = 140000;
constexpr uint64_t kPageBytes = 8192;
constexpr uint64_t kMostPages = kMostReadBytes / kPageBytes;
const RowClasses kBehind = {.unpublished_from = 900};

CountPlan Plan(const std::vector<TablePart>& parts, int server_version = kPostgres14) {
  return PlanPart(parts, kPageBytes, server_version);
}

// How many pages the plan reads of tables whose parts have no condition.
uint64_t PagesRead(const std::vector<TablePart>& parts, uint64_t first_page) {
  uint64_t sum = 0;
  for (const TablePart& part : parts) {
    sum += part.pages > first_page ? part.pages - first_page : 0;
  }
  return sum;
}

TEST(CountPlanTest, ASmallTableIsReadAsAWhole) {
  const TableSize small{.heap_bytes = kMostReadBytes};
  EXPECT_FALSE(NeedsPart(small, kBehind));
  EXPECT_EQ(PlanWhole(small), (CountPlan{.ranges = {PartPages()}, .whole = true}));
}

TEST(CountPlanTest, OfALargeTableAPartIsReadWhileRowsAreUnpublished) {
  const TableSize large{.heap_bytes = kMostReadBytes + 1};
  EXPECT_TRUE(NeedsPart(large, kBehind));
  RowClasses published = kBehind;
  published.all_published = true;
  EXPECT_FALSE(NeedsPart(large, published));
  EXPECT_FALSE(NeedsPart(large, {}));
  EXPECT_EQ(PlanWhole(large), CountPlan());
}

TEST(CountPlanTest, ThePartOfATableIsItsEnd) {
  EXPECT_EQ(Plan({{.pages = kMostPages + 10}}), (CountPlan{.ranges = {{.first_page = 10}}}));
}

TEST(CountPlanTest, NothingIsReadIfTheEndCannotBeReadAlone) {
  EXPECT_EQ(Plan({{.pages = kMostPages + 10}}, kPostgres13), CountPlan());
  EXPECT_EQ(Plan({{.pages = kMostPages}, {.pages = kMostPages}}, kPostgres13), CountPlan());
}

TEST(CountPlanTest, TheNewestPartitionsAreReadAndTheEndOfTheLastOne) {
  EXPECT_EQ(Plan({{.pages = 10, .condition = "c"},
                  {.pages = kMostPages - 15, .condition = "b"},
                  {.pages = 100, .condition = "a"},
                  {.pages = 1, .condition = "oldest"}}),
            (CountPlan{.ranges = {{.condition = "c"},
                                  {.condition = "b"},
                                  {.condition = "a", .first_page = 95}}}));
}

TEST(CountPlanTest, OlderServersReadTheNewestPartitionsThatFit) {
  EXPECT_EQ(Plan({{.pages = 10, .condition = "c"},
                  {.pages = kMostPages, .condition = "b"},
                  {.pages = 100, .condition = "a"}},
                 kPostgres13),
            (CountPlan{.ranges = {{.condition = "c"}, {.condition = "a"}}}));
}

TEST(CountPlanTest, PartitionsWithoutAConditionAreNotReadBesideOthers) {
  EXPECT_EQ(Plan({{.pages = kMostPages}, {.pages = 5, .condition = "a"}}),
            (CountPlan{.ranges = {{.condition = "a"}}}));
}

TEST(CountPlanTest, TheStatementIsOfLimitedLength) {
  const std::vector<TablePart> hourly(1000, {.pages = 1, .condition = "a"});
  EXPECT_EQ(Plan(hourly).ranges.size(), kMostReadPartitions);
}

TEST(CountPlanTest, PartitionsThatCannotBeReadAloneAreReadFromACommonPageOn) {
  for (const std::vector<TablePart>& parts :
       {std::vector<TablePart>{{.pages = kMostPages}, {.pages = kMostPages}},
        {{.pages = 3}, {.pages = 2 * kMostPages}, {.pages = kMostPages / 2}},
        std::vector<TablePart>(3 * kMostPages, {.pages = 1})}) {
    const CountPlan plan = Plan(parts);
    ASSERT_EQ(plan.ranges.size(), 1u);
    const uint64_t first = plan.ranges.front().first_page;
    EXPECT_LE(PagesRead(parts, first), kMostPages);
    EXPECT_GT(PagesRead(parts, first - 1), kMostPages);
  }
}

TEST(CountPlanTest, TheTimeColumnHasATimeZoneAndIsNeverNull) {
  TableInfo table;
  EXPECT_EQ(TimeColumnOf(table), "");
  table.columns = {{.name = "id", .not_null = true, .type_name = "uuid"},
                   {.name = "published_at", .type_name = "timestamptz"},
                   {.name = "local", .not_null = true, .type_name = "timestamp"}};
  EXPECT_EQ(TimeColumnOf(table), "");
  table.columns.push_back({.name = "Created", .not_null = true, .type_name = "timestamptz"});
  table.columns.push_back({.name = "later", .not_null = true, .type_name = "timestamptz"});
  EXPECT_EQ(TimeColumnOf(table), "Created");
}

}  // namespace
}  // namespace walrelay

#include "postgres/count_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LeafClassesTest, RowsOfAnotherConfiguredTableAreNotThoseOfTheTable) {
  const TableInfo table{.oid = 500,
                        .leaves = {{.oid = 601, .stream = LeafStream::kSent, .sent_as = 500},
                                   {.oid = 602, .stream = LeafStream::kSent, .sent_as = 602},
                                   {.oid = 603, .stream = LeafStream::kUnlogged}}};
  const LeafClasses leaves = ClassesOf(table, {});
  EXPECT_THAT(leaves.own, ElementsAre(601, 603));
  EXPECT_THAT(leaves.other, ElementsAre(602));
  EXPECT_THAT(leaves.unsent, ElementsAre(603));
}

// The catalog has the low 32 bits of an xid.
TEST(LeafClassesTest, LeafThatWasAttachedSinceTheProofBeginsMayHaveBroughtRows) {
  TableInfo table{.oid = 500,
                  .leaves = {{.oid = 601, .stream = LeafStream::kSent, .sent_as = 500}}};
  const RowClasses classes{.unproven_before = (uint64_t{1} << 32) + 5};
  for (const uint32_t xid : {5U, 6U}) {
    table.leaves[0].attached_by = xid;
    EXPECT_THAT(ClassesOf(table, classes).attached, ElementsAre(table.leaves.data())) << xid;
  }
  for (const uint32_t xid : {0U, 4U, UINT32_MAX}) {
    table.leaves[0].attached_by = xid;
    EXPECT_THAT(ClassesOf(table, classes).attached, IsEmpty()) << xid;
  }
}

class CountQueryTest : public ::testing::Test {
 protected:
  CountQueryTest() { query_.plan = {.ranges = {{}}, .whole = true}; }

  CountQuery query_{.table = "public.outbox"};
};

TEST_F(CountQueryTest, StatementIsLimited) {
  EXPECT_THAT(query_.Sql(), StartsWith("SET LOCAL statement_timeout = '1s';"));
}

TEST_F(CountQueryTest, OnlyWhatCanBeKnownIsCounted) {
  EXPECT_THAT(query_.Sql(), Not(HasSubstr("unpublished")));
  query_.classes.unpublished_from = 740;
  EXPECT_THAT(query_.Sql(), HasSubstr("pg_catalog.age('740'::pg_catalog.xid))"));
  EXPECT_THAT(query_.Sql(), HasSubstr(" AS unpublished"));
  EXPECT_THAT(query_.Sql(), Not(HasSubstr(" AS age")));
  query_.time_column = "created_at";
  EXPECT_THAT(query_.Sql(), HasSubstr(" AS age"));
  query_.classes.all_published = true;
  EXPECT_THAT(query_.Sql(), Not(HasSubstr("unpublished")));
}

TEST_F(CountQueryTest, EachRangeHasItsCondition) {
  query_.plan.ranges = {{.first_page = 7}, {.condition = "id > 1", .first_page = 0}};
  query_.leaves.other = {602, 603};
  EXPECT_THAT(query_.Sql(),
              HasSubstr("WHERE t.tableoid OPERATOR(pg_catalog.<>) ALL "
                        "(ARRAY[602, 603]::pg_catalog.oid[]) AND t.ctid OPERATOR(pg_catalog.>=) "
                        "'(7,0)'::pg_catalog.tid UNION ALL "));
  EXPECT_THAT(query_.Sql(), HasSubstr("ALL (ARRAY[602, 603]::pg_catalog.oid[]) AND (id > 1)"));
}

}  // namespace
}  // namespace walrelay

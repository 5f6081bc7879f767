#include "prune/prune_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PruneQueryTest : public ::testing::Test {
 protected:
  std::string Query(int version = 150000) const {
    return PruneQuery(config_, table_, proof_, action_, {.begin = 8, .end = 16}, version);
  }

  PruneAction action_ = PruneAction::kApply;
  PruneConfig config_{.mode = PruneMode::kDelete, .keep = std::chrono::seconds(90)};
  PruneTable table_{.schema = "public", .name = "outbox", .pages = 100};
  PruneProof proof_{.xids = {.from = {.xid = (uint64_t{2} << 32) - 5, .taken = WallTime()},
                             .before = (uint64_t{2} << 32) + 5,
                             .as_of = WallTime()},
                    .timeline = 26,
                    .backend_pid = 4711,
                    .slot = "shop"};
};

TEST_F(PruneQueryTest, DeletesFromARangeOfPages) {
  EXPECT_THAT(Query(), HasSubstr(R"(DELETE FROM ONLY "public"."outbox" t WHERE)"));
  EXPECT_THAT(Query(), HasSubstr("t.ctid OPERATOR(pg_catalog.>=) '(8,0)'::pg_catalog.tid"));
  EXPECT_THAT(Query(), HasSubstr("t.ctid OPERATOR(pg_catalog.<) '(16,0)'::pg_catalog.tid"));
}

TEST_F(PruneQueryTest, NamesTheRowsWhereTheServerCannotReadARange) {
  EXPECT_FALSE(ScansRanges(130022));
  EXPECT_THAT(Query(130022), HasSubstr("pg_catalog.generate_series(8, 15) page"));
  EXPECT_THAT(Query(130022), Not(HasSubstr("'(8,0)'")));
}

TEST_F(PruneQueryTest, ComparesTheServer) {
  EXPECT_THAT(Query(), HasSubstr("OPERATOR(pg_catalog.=) '0000001A'"));
  EXPECT_THAT(Query(), HasSubstr("s.slot_name OPERATOR(pg_catalog.=) 'shop'"));
  EXPECT_THAT(Query(), HasSubstr("s.active_pid OPERATOR(pg_catalog.=) 4711"));
}

// (before - 1) mod 2^32 is 4; ten xids count.
TEST_F(PruneQueryTest, ComparesXidsModulo) {
  EXPECT_THAT(Query(), HasSubstr("((4294967300::pg_catalog.int8 OPERATOR(pg_catalog.-) "
                                 "t.xmin::pg_catalog.text::pg_catalog.int8) "
                                 "OPERATOR(pg_catalog.%) 4294967296::pg_catalog.int8) "
                                 "OPERATOR(pg_catalog.<) 10::pg_catalog.int8"));
}

TEST_F(PruneQueryTest, RowsFromBeforeAPartitionWasAttachedAreKept) {
  EXPECT_THAT(Query(), HasSubstr(R"(pg_partition_ancestors('"public"."outbox"'::pg_catalog.)"));
}

TEST_F(PruneQueryTest, ComparesAgeAndBeginning) {
  EXPECT_THAT(Query(), HasSubstr("'90000000 microseconds'::pg_catalog.interval"));
  EXPECT_THAT(Query(), HasSubstr("'1970-01-01T00:00:00"));
  table_.time_has_zone = false;
  EXPECT_THAT(Query(), HasSubstr("'1970-01-01T14:00:00"));
}

TEST_F(PruneQueryTest, MarksWhatIsNotMarked) {
  config_.mode = PruneMode::kMark;
  config_.mark_column = "published_at";
  EXPECT_THAT(Query(), HasSubstr(R"(t SET "published_at" = pg_catalog.now() WHERE)"));
  EXPECT_THAT(Query(), HasSubstr(R"(t."published_at" IS NULL)"));
  table_.mark_is_boolean = true;
  EXPECT_THAT(Query(), HasSubstr(R"(t SET "published_at" = true WHERE)"));
  EXPECT_THAT(Query(), HasSubstr(R"(t."published_at" IS NOT TRUE)"));
}

TEST_F(PruneQueryTest, ChangesNothingWhenItCounts) {
  action_ = PruneAction::kCount;
  EXPECT_THAT(Query(), HasSubstr(R"(pruned AS (SELECT 1 FROM ONLY "public"."outbox" t WHERE)"));
  EXPECT_THAT(Query(), Not(HasSubstr("DELETE")));
}

TEST_F(PruneQueryTest, PartitionsAreDroppedExceptTheDefaultOne) {
  EXPECT_THAT(PruneTablesQuery(config_, {16400, 16401}), Not(HasSubstr("partdefid")));
  config_.mode = PruneMode::kDrop;
  EXPECT_THAT(PruneTablesQuery(config_, {16400, 16401}),
              HasSubstr("d.partdefid OPERATOR(pg_catalog.=) c.oid"));
  EXPECT_THAT(Query(), HasSubstr("DELETE FROM ONLY"));
}

TEST_F(PruneQueryTest, QuotesNames) {
  table_.name = R"(a"; DROP TABLE b; --)";
  config_.time_column = R"(t" OR true)";
  EXPECT_THAT(Query(), HasSubstr(R"("public"."a""; DROP TABLE b; --" t)"));
  EXPECT_THAT(Query(), HasSubstr(R"(t."t"" OR true")"));
  EXPECT_THAT(PruneTablesQuery(config_, {16400}), HasSubstr("'t\" OR true'"));
}

}  // namespace
}  // namespace walrelay

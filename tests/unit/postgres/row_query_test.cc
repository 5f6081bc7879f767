#include "postgres/row_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RowQueryTest : public ::testing::Test {
 protected:
  RowQuery Make(uint64_t limit = 0) { return *Try(limit); }
  absl::StatusOr<RowQuery> Try(uint64_t limit = 0) {
    return MakeRowQuery(selection_,
                        {.table = table_,
                         .route = route_,
                         .relation = relation_,
                         .partitioned = partitioned_,
                         .commit_times = commit_times_,
                         .own_rows_only = own_rows_only_,
                         .next_xid = 5'000'000'001,
                         .attached = attached_},
                        limit);
  }

  RowSelection selection_;
  OutboxTable table_;
  RouteConfig route_;
  pgoutput::CachedRelation relation_ = {.oid = 7,
                                        .schema = "public",
                                        .name = "out\"box",
                                        .columns = {{"id", pgoutput::kInt8Oid},
                                                    {"aggregateid", pgoutput::kTextOid},
                                                    {"at", pgoutput::kTimestampOid}}};
  bool partitioned_ = false;
  bool commit_times_ = false;
  bool own_rows_only_ = false;
  std::vector<AttachedPartition> attached_;
};

TEST_F(RowQueryTest, ColumnsAreThoseOfTheRelationAndNamesAreQuoted) {
  const std::string select = Make().select;
  EXPECT_THAT(select, HasSubstr(R"(SELECT o."id", o."aggregateid", o."at", )"));
  EXPECT_THAT(select, HasSubstr(R"(FROM ONLY "public"."out""box" AS o ORDER BY)"));
  EXPECT_THAT(select, Not(HasSubstr("WHERE")));
  EXPECT_THAT(select, Not(HasSubstr("LIMIT")));
}

TEST_F(RowQueryTest, PartitionedTableIsReadWithItsPartitions) {
  partitioned_ = true;
  EXPECT_THAT(Make().select, HasSubstr(R"(FROM "public".)"));
}

TEST_F(RowQueryTest, IdsOfTheColumnsTypeAreComparedInIt) {
  selection_.ids = {"1", "-20"};
  EXPECT_THAT(Make().select, HasSubstr(R"(WHERE o."id" OPERATOR(pg_catalog.=) )"
                                       R"(ANY (ARRAY['1', '-20']::pg_catalog.int8[]))"));
  relation_.columns[0].type_oid = pgoutput::kUuidOid;
  selection_.ids = {"6f0f33a3-0a0a-4c9e-9d3c-0123456789ab"};
  EXPECT_THAT(Make().select, HasSubstr("::pg_catalog.uuid[])"));
}

TEST_F(RowQueryTest, OtherIdsAreComparedAsText) {
  for (const char* const id :
       {"", "01", "+1", "1 ", "x", "99999999999999999999", "'; DROP TABLE outbox; --"}) {
    selection_.ids = {"1", id};
    EXPECT_THAT(Make().select, HasSubstr(R"(o."id"::pg_catalog.text OPERATOR)")) << id;
  }
  EXPECT_THAT(Make().select, HasSubstr("'''; DROP TABLE outbox; --'"));
  relation_.columns[0].type_oid = pgoutput::kUuidOid;
  selection_.ids = {"6F0F33A3-0A0A-4C9E-9D3C-0123456789AB"};  // the server prints lower case
  EXPECT_THAT(Make().select, HasSubstr("::pg_catalog.text[])"));
}

TEST_F(RowQueryTest, KeyIsThatOfTheMappedColumn) {
  selection_.key = "it's";
  EXPECT_THAT(Make().select, HasSubstr(R"(o."aggregateid"::pg_catalog.text )"
                                       R"(OPERATOR(pg_catalog.=) ANY (ARRAY['it''s'])"));
  table_.columns.aggregate_id = "at";
  EXPECT_THAT(Make().select, HasSubstr(R"(o."at"::pg_catalog.text OPERATOR)"));
  table_.columns.aggregate_id = "gone";
  EXPECT_THAT(Try(), HasError(ErrorCode::kUsage, "gone"));
}

TEST_F(RowQueryTest, TimeRangeUsesTheNamedColumn) {
  selection_.since = WallTime(std::chrono::seconds(0));
  selection_.until = WallTime(std::chrono::seconds(60));
  selection_.time_column = "at";
  EXPECT_THAT(Make().count,
              AllOf(HasSubstr(R"(o."at" OPERATOR(pg_catalog.>=) ('1970-01-01T00:00:00)"),
                    HasSubstr(R"(o."at" OPERATOR(pg_catalog.<) ('1970-01-01T00:01:00)"),
                    HasSubstr("AT TIME ZONE 'UTC'")));
}

TEST_F(RowQueryTest, TimeRangeUsesCreatedAtOrTheCommitTimes) {
  selection_.since = WallTime(std::chrono::seconds(0));
  EXPECT_THAT(Try(), HasError(ErrorCode::kUsage, "created_at"));
  commit_times_ = true;
  EXPECT_THAT(Make().count, HasSubstr("pg_xact_commit_timestamp(o.xmin) OPERATOR"));
  relation_.columns.push_back({"created_at", pgoutput::kTimestamptzOid});
  EXPECT_THAT(Make().count, HasSubstr(R"(o."created_at" OPERATOR)"));
  route_.timestamp_column = "id";
  EXPECT_THAT(Try(), HasError(ErrorCode::kUsage, "not a timestamp"));
}

TEST_F(RowQueryTest, XidsHaveTheirEpoch) {
  selection_.xid_from = 4'999'000'000;
  selection_.xid_before = 5'000'000'000;
  EXPECT_THAT(Make().count, AllOf(HasSubstr("(5000000000::pg_catalog.int8 OPERATOR(pg_catalog.-) "
                                            "o.xmin::pg_catalog.text::pg_catalog.int8) "
                                            "OPERATOR(pg_catalog.&) 4294967295::pg_catalog.int8"),
                                  HasSubstr("OPERATOR(pg_catalog.>=) 4999000000::pg_catalog.int8"),
                                  HasSubstr("OPERATOR(pg_catalog.<) 5000000000::pg_catalog.int8")));
}

TEST_F(RowQueryTest, RowsThatTheProofDoesNotCoverAreSelected) {
  selection_.xid_from = 4'999'000'000;
  relation_.columns.push_back({"created_at", pgoutput::kTimestamptzOid});
  attached_ = {{.oid = 77, .xid = 4'998'000'123}};
  EXPECT_THAT(Make().count, Not(HasSubstr(" OR ")));
  selection_.proven_from = {.xid = 4'998'000'000, .taken = WallTime(std::chrono::seconds(3600))};
  selection_.proven_as_of = WallTime(std::chrono::seconds(7200));
  selection_.proven_time_column = "created_at";
  EXPECT_THAT(
      Make().count,
      HasSubstr(R"( OR o."created_at" OPERATOR(pg_catalog.>) ('1970-01-01T02:00:00.000000Z'::)"));
  EXPECT_THAT(
      Make().count,
      AllOf(HasSubstr(" OPERATOR(pg_catalog.>=) 4999000000::pg_catalog.int8 OR ("),
            HasSubstr(" OPERATOR(pg_catalog.>=) 4998000000::pg_catalog.int8 AND "
                      R"(o."created_at" OPERATOR(pg_catalog.<) ('1970-01-01T01:00:00.000000Z'::)"),
            HasSubstr(" OR (o.tableoid OPERATOR(pg_catalog.=) 77::pg_catalog.oid AND "),
            HasSubstr(" OPERATOR(pg_catalog.<=) 4998000123::pg_catalog.int8)")));
  selection_.proven_time_column = "at";  // of no known zone
  EXPECT_THAT(Make().count, Not(HasSubstr("1970")));
  selection_.proven_time_column = "missing";
  EXPECT_THAT(Make().count, Not(HasSubstr("1970")));
}

TEST_F(RowQueryTest, RowsOfOtherOriginsAreNotSelected) {
  EXPECT_THAT(Make().select, Not(HasSubstr("origin")));
  own_rows_only_ = true;
  selection_.ids = {"7"};
  EXPECT_THAT(Make().count, HasSubstr(" AND COALESCE((pg_catalog.pg_xact_commit_timestamp_origin("
                                      "o.xmin)).roident, '0'::pg_catalog.oid) OPERATOR("));
  EXPECT_TRUE(ShowsOrigins(140'000, true));
  EXPECT_FALSE(ShowsOrigins(130'018, true));
  EXPECT_FALSE(ShowsOrigins(180'000, false));
}

TEST_F(RowQueryTest, OrderIsThatOfCommitsAsFarAsItIsKnown) {
  EXPECT_EQ(Make().order, RowOrder::kId);
  relation_.columns[0].type_oid = pgoutput::kUuidOid;
  EXPECT_EQ(Make().order, RowOrder::kXid);
  commit_times_ = true;
  EXPECT_EQ(Make().order, RowOrder::kCommitTime);
  selection_.order_by = "at";
  EXPECT_EQ(Make().order, RowOrder::kColumn);
  EXPECT_THAT(Make().select, HasSubstr(R"(ORDER BY o."at", o.cmin)"));
  selection_.order_by = "at, (SELECT 1)";
  EXPECT_THAT(Try(), HasError(ErrorCode::kUsage, "at, (SELECT 1)"));
}

TEST_F(RowQueryTest, LimitIsNotOfTheCount) {
  EXPECT_THAT(Make(3).select, ::testing::EndsWith(" LIMIT 3"));
  EXPECT_THAT(Make(3).count, Not(HasSubstr("LIMIT")));
}

TEST(RowSelectionTest, AnyConditionSelectsLessThanAll) {
  EXPECT_TRUE(RowSelection().selects_all());
  EXPECT_TRUE((RowSelection{.order_by = "id", .limit = 1}.selects_all()));
  EXPECT_FALSE(RowSelection{.ids = {"1"}}.selects_all());
  EXPECT_FALSE(RowSelection{.after_id = ""}.selects_all());
  EXPECT_FALSE(RowSelection{.key = ""}.selects_all());
  EXPECT_FALSE(RowSelection{.until = WallTime()}.selects_all());
  EXPECT_FALSE(RowSelection{.xid_from = 1}.selects_all());
}

}  // namespace
}  // namespace walrelay

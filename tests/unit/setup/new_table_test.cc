#include "setup/new_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NewTableTest : public ::testing::Test {
 protected:
  std::string Sql() const { return CreateTable(table_, partitions_, 1'000'000); }
  // The position of a statement, which must be in the SQL.
  size_t At(const std::string& statement) const {
    const size_t at = Sql().find("\n" + statement);
    EXPECT_NE(at, std::string::npos) << statement << "\n" << Sql();
    return at;
  }

  OutboxTable table_;
  std::optional<NewPartitions> partitions_;
};

TEST_F(NewTableTest, NamesAreQuoted) {
  table_ = {.schema = "s\"", .name = "t'"};
  EXPECT_THAT(Sql(), HasSubstr(R"(CREATE TABLE "s"""."t'" ()"));
}

TEST_F(NewTableTest, ColumnsHaveTheirMappedNames) {
  table_.columns.aggregate_id = "Key";
  EXPECT_THAT(Sql(), HasSubstr("\"Key\"            text        NOT NULL"));
  EXPECT_THAT(Sql(), Not(HasSubstr("\"aggregate_id\"")));
}

TEST_F(NewTableTest, RowsThatNoRecordCanHoldAreKeptOut) {
  table_.columns.payload = "body\"";
  EXPECT_THAT(Sql(),
              HasSubstr(R"("body"""         jsonb       NOT NULL CHECK )"
                        R"((pg_catalog.octet_length("body"""::pg_catalog.text) <= 900000))"));
}

TEST_F(NewTableTest, ColumnWithTwoRolesIsCreatedOnce) {
  table_.columns.aggregate_type = "type";
  table_.columns.event_type = "type";
  table_.placements = {{.column = "created_at"}, {.column = "tenant"}};
  const std::string sql = Sql();
  for (const char* column : {"  \"type\" ", "  \"created_at\" ", "  \"tenant\" "}) {
    EXPECT_NE(sql.find(column), std::string::npos) << column;
    EXPECT_EQ(sql.find(column), sql.rfind(column)) << column;
  }
}

TEST_F(NewTableTest, OmittedPartsHaveNoColumn) {
  table_.columns.event_type = "";
  table_.columns.trace_id = "";
  EXPECT_THAT(Sql(), Not(HasSubstr("event_type")));
  EXPECT_THAT(Sql(), HasSubstr("pg_catalog.now()\n);"));  // no comma after the last column
}

TEST_F(NewTableTest, PartitionedTableHasItsTimeInTheKeyAndADefaultPartition) {
  partitions_ = {.period = PartitionPeriod::kDaily,
                 .now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 24)};
  const std::string sql = Sql();
  EXPECT_THAT(sql, HasSubstr("  PRIMARY KEY (\"id\", \"created_at\")\n) PARTITION BY RANGE "
                             "(\"created_at\");"));
  EXPECT_LT(At("CREATE TABLE \"public\".\"outbox_default\" PARTITION OF"),
            At("CREATE TABLE \"public\".\"outbox_p20261124\" PARTITION OF \"public\".\"outbox\"\n"
               "  FOR VALUES FROM ('2026-11-24T00:00:00.000000Z') TO "
               "('2026-11-25T00:00:00.000000Z');"));
  At("CREATE TABLE \"public\".\"outbox_p20261201\" PARTITION OF");
  EXPECT_THAT(sql, Not(HasSubstr("outbox_p20261202")));
}

TEST_F(NewTableTest, PartitionedTableWithoutIdHasNoPrimaryKey) {
  partitions_ = {.period = PartitionPeriod::kMonthly};
  table_.columns.id = "";
  EXPECT_THAT(Sql(), Not(HasSubstr("PRIMARY KEY")));
  EXPECT_THAT(Sql(), HasSubstr(" text\n) PARTITION BY RANGE"));
}

}  // namespace
}  // namespace walrelay

#include "route/column_binder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

class ColumnBinderTest : public ::testing::Test {
 protected:
  ColumnBinderTest() { relation_.schema = "public", relation_.name = "outbox"; }

  // The server describes the table with these columns of type text.
  void Describe(const std::vector<std::string>& columns) {
    for (const std::string& name : columns) {
      relation_.columns.push_back({name, pgoutput::kTextOid});
    }
  }
  // Looks up a column that the table must have.
  BoundColumn Named(std::string_view name, std::string_view purpose) {
    status_ = absl::OkStatus();
    return Binder().Named(name, purpose);
  }
  ColumnBinder Binder() { return {relation_, &info_, modes_, status_}; }

  pgoutput::CachedRelation relation_;
  TableInfo info_;  // the table as it is now
  TypeModes modes_;
  absl::Status status_;
};

// The mapping of today does not suit rows from before the table was changed.
TEST_F(ColumnBinderTest, RowFromBeforeAChangeIsNamedAsSuch) {
  Describe({"id", "payload"});
  info_.columns = {{.name = "id"}, {.name = "body"}};
  EXPECT_FALSE(Named("body", "payload").present());
  EXPECT_THAT(status_,
              HasError(ErrorCode::kColumnMissing,
                       "has column \"body\" (payload) now, but not when this row was written"));
  EXPECT_NE(RemedyFor(status_).find("publishes the rows from before the change"),
            std::string::npos);
  // The table has neither: the mapping is wrong for all rows.
  info_.columns = {{.name = "id"}};
  EXPECT_FALSE(Named("body", "payload").present());
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing, "has no column \"body\" (payload)"));
  EXPECT_EQ(RemedyFor(status_).find("before the change"), std::string::npos);
}

TEST_F(ColumnBinderTest, ColumnNamesAreEscapedInMessages) {
  Describe({"id", "a\nb\x1b[2J"});
  Named("aggregate_type", "aggregate type");
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing, "it has id, a\\x0ab\\x1b[2J"));
}

TEST_F(ColumnBinderTest, NamesAreMatchedExactly) {
  Describe({"ID", "id "});
  Named("id", "event id");
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing, "\"id\" (event id)"));
}

TEST_F(ColumnBinderTest, DomainDeclaresTheModifierAndHasNoDefault) {
  relation_.columns = {{"payload", pgoutput::kNumericOid}};
  info_.columns = {{.name = "payload",
                    .default_expression = "1.5",
                    .type_name = "numeric",
                    .is_domain = true,
                    .domain_modifier = (6 << 16 | 2) + 4}};
  BoundColumn payload = Named("payload", "payload");
  Binder().Shape(payload);
  ASSERT_THAT(status_, IsOk());
  EXPECT_EQ(payload.shape->scale, 2);
  EXPECT_EQ(payload.shape->schema->default_value, nullptr);
}

}  // namespace
}  // namespace walrelay

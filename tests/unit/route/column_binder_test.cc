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
  BoundColumn Named(const ColumnNames& names, std::string_view purpose) {
    status_ = absl::OkStatus();
    return Binder().Named(names, purpose);
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
  EXPECT_NE(RemedyFor(status_).find("[\"body\", \"OLD\"] instead of \"body\""), std::string::npos);
  // The table has neither: the mapping is wrong for all rows.
  info_.columns = {{.name = "id"}};
  EXPECT_FALSE(Named("body", "payload").present());
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing, "has no column \"body\" (payload)"));
  EXPECT_EQ(RemedyFor(status_).find("OLD"), std::string::npos);
}

// Both names of a column that is being renamed.
TEST_F(ColumnBinderTest, FirstNameThatTheRowHasIsUsed) {
  const ColumnNames both(std::vector<std::string>{"body", "payload"});
  Describe({"id", "payload"});
  EXPECT_EQ(Named(both, "payload").index, 1);
  Describe({"body"});
  EXPECT_EQ(Named(both, "payload").index, 2);
  EXPECT_THAT(status_, IsOk());
  Named(ColumnNames(std::vector<std::string>{"content", "text"}), "payload");
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing,
                                "has no column \"content\" or \"text\" (payload)"));
}

// A table may have the old and the new column at once, and both have the same secret.
TEST_F(ColumnBinderTest, TransformAppliesToEachColumnThatTheRowHas) {
  Describe({"mail", "e_mail", "id"});
  ColumnBinder binder = Binder();
  binder.BindTransform({.column = ColumnNames(std::vector<std::string>{"e_mail", "mail", "gone"}),
                        .kind = ColumnTransform::Kind::kMask,
                        .length = 3},
                       /*optional=*/false);
  EXPECT_THAT(status_, IsOk());
  ASSERT_EQ(binder.transformed().size(), 2U);
  EXPECT_NE(binder.Find("mail").transform, nullptr);
  EXPECT_NE(binder.Find("e_mail").transform, nullptr);
  binder.BindTransform({.column = "gone"}, /*optional=*/true);
  EXPECT_THAT(status_, IsOk());
  binder.BindTransform({.column = "gone"}, /*optional=*/false);
  EXPECT_THAT(status_, HasError(ErrorCode::kColumnMissing, "\"gone\" (transform)"));
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

#include "encode/connect_column_type.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

ColumnForm FormOf(uint32_t type_oid, int32_t modifier = -1) {
  const auto shape = ShapeOf({.type_oid = type_oid, .type_modifier = modifier});
  EXPECT_THAT(shape, IsOk());
  return shape.ok() ? shape->form : ColumnForm::kText;
}
std::string SchemaOf(const ColumnTraits& column) {
  const auto shape = ShapeOf(column);
  EXPECT_THAT(shape, IsOk());
  std::string out;
  AppendConnectSchema(*shape->schema, out);
  return out;
}

TEST(ColumnShapeTest, FormFollowsTheType) {
  EXPECT_EQ(FormOf(pgoutput::kTextOid), ColumnForm::kText);
  EXPECT_EQ(FormOf(pgoutput::kJsonbOid), ColumnForm::kText);
  EXPECT_EQ(FormOf(pgoutput::kBoolOid), ColumnForm::kBoolean);
  EXPECT_EQ(FormOf(pgoutput::kInt8Oid), ColumnForm::kInteger);
  EXPECT_EQ(FormOf(pgoutput::kByteaOid), ColumnForm::kBytes);
  EXPECT_EQ(FormOf(pgoutput::kDateOid), ColumnForm::kDate);
}

TEST(ColumnShapeTest, PrecisionDecidesTheUnitOfATime) {
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid), ColumnForm::kTimestampMicros);
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid, 3), ColumnForm::kTimestampMillis);
  EXPECT_EQ(FormOf(pgoutput::kTimestampOid, 4), ColumnForm::kTimestampMicros);
  EXPECT_EQ(FormOf(pgoutput::kTimeOid, 0), ColumnForm::kTimeMillis);
  EXPECT_EQ(ShapeOf({.type_oid = pgoutput::kTimestamptzOid, .type_modifier = 3})->fraction_digits,
            3);
}

TEST(ColumnShapeTest, DeclaredScaleDecidesTheFormOfANumeric) {
  EXPECT_EQ(FormOf(pgoutput::kNumericOid), ColumnForm::kVariableDecimal);
  EXPECT_EQ(FormOf(pgoutput::kNumericOid, (10 << 16 | 2) + 4), ColumnForm::kDecimal);
}

TEST(ColumnShapeTest, NotNullColumnIsRequired) {
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kTextOid}), R"({"type":"string","optional":true})");
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kTextOid, .nullable = false}),
            R"({"type":"string","optional":false})");
}

TEST(ColumnShapeTest, ArrayHasTheShapeOfItsElements) {
  constexpr uint32_t kInts = 1007;
  const auto shape = ShapeOf({.type_oid = kInts});
  ASSERT_THAT(shape, IsOk());
  EXPECT_TRUE(shape->is_array);
  EXPECT_EQ(shape->form, ColumnForm::kInteger);
  EXPECT_EQ(shape->type_oid, pgoutput::kInt4Oid);
  EXPECT_EQ(shape->schema->type, SchemaType::kArray);
}

TEST(ColumnShapeTest, TypeThatDebeziumWritesOtherwiseIsRefused) {
  EXPECT_THAT(ShapeOf({.type_oid = pgoutput::kFirstUserOid}), HasError(ErrorCode::kColumnType));
}

}  // namespace
}  // namespace walrelay

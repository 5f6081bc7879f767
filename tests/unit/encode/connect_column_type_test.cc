#include "encode/connect_column_type.h"

#include <gtest/gtest.h>

#include <string>

#include "encode/connect_json.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

ColumnForm FormOf(uint32_t type_oid, int32_t modifier = -1) {
  const auto shape = ShapeOf({.type_oid = type_oid, .type_modifier = modifier});
  EXPECT_THAT(shape, IsOk());
  return shape.ok() ? shape->form : ColumnForm::kText;
}
std::string SchemaOf(const ColumnTraits& column, const TypeModes& modes = {}) {
  const auto shape = ShapeOf(column, modes);
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

TEST(ColumnShapeTest, NumericsAndByteaMayBeText) {
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kNumericOid}, {.decimal = DecimalMode::kString}),
            R"({"type":"string","optional":true})");
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kNumericOid}, {.decimal = DecimalMode::kDouble}),
            R"({"type":"double","optional":true})");
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kByteaOid}, {.binary = BinaryMode::kHex}),
            R"({"type":"string","optional":true})");
}

TEST(ColumnShapeTest, SeveralBitsAreBytes) {
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kBitOid, .type_modifier = 1}),
            R"({"type":"boolean","optional":true})");
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kBitOid, .type_modifier = 3}),
            R"({"type":"bytes","optional":true,"name":"io.debezium.data.Bits","version":1,)"
            R"("parameters":{"length":"3"}})");
  EXPECT_EQ(SchemaOf({.type_oid = pgoutput::kVarbitOid}),
            R"({"type":"bytes","optional":true,"name":"io.debezium.data.Bits","version":1,)"
            R"("parameters":{"length":"2147483647"}})");
}

TEST(ColumnShapeTest, TypesOfExtensionsAreFoundByName) {
  const auto column = [](std::string name) {
    return ColumnTraits{.type_oid = pgoutput::kFirstUserOid, .type_name = std::move(name)};
  };
  EXPECT_EQ(SchemaOf(column("citext")), R"({"type":"string","optional":true})");
  EXPECT_EQ(SchemaOf(column("ltree")),
            R"({"type":"string","optional":true,"name":"io.debezium.data.Ltree","version":1})");
  EXPECT_EQ(SchemaOf(column("hstore")),
            R"({"type":"string","optional":true,"name":"io.debezium.data.Json","version":1})");
  EXPECT_EQ(SchemaOf(column("hstore"), {.hstore = HstoreMode::kMap}),
            R"({"type":"map","keys":{"type":"string","optional":false},)"
            R"("values":{"type":"string","optional":true},"optional":true})");
}

TEST(ColumnShapeTest, UnknownTypeIsBytesIfConfigured) {
  ColumnTraits column{.type_oid = pgoutput::kFirstUserOid, .type_name = "pair"};
  EXPECT_THAT(ShapeOf(column), HasError(ErrorCode::kColumnType, "pair"));
  const TypeModes bytes{.unknown = UnknownTypes::kBytes};
  EXPECT_EQ(SchemaOf(column, bytes), R"({"type":"bytes","optional":true})");
  // Debezium has representations of its own for these, and none for arrays.
  for (const char* name : {"money", "point", "geometry", "regclass", ""}) {
    column.type_name = name;
    EXPECT_THAT(ShapeOf(column, bytes), HasError(ErrorCode::kColumnType)) << name;
  }
}

}  // namespace
}  // namespace walrelay

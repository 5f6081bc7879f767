#include "encode/value_transform.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using Kind = ColumnTransform::Kind;
using std::string_view_literals::operator""sv;

constexpr int32_t kVarchar10 = 14;
constexpr int32_t kNumeric12By3 = (12 << 16 | 3) + 4;

class ValueTransformTest : public ::testing::Test {
 protected:
  void Truncate(int64_t length) { rule_ = {.kind = Kind::kTruncate, .length = length}; }
  void Mask(int64_t length) { rule_ = {.kind = Kind::kMask, .length = length}; }
  void Hash(Kind kind, HashAlgorithm algorithm = HashAlgorithm::kSha256) {
    rule_ = {.kind = kind, .algorithm = algorithm, .salt = Secret("salt")};
  }

  const ValueTransform& Transform(const ColumnTraits& column, const TypeModes& modes = {}) {
    const auto shape = ShapeOf(column, modes);
    transform_ = std::make_unique<ValueTransform>(rule_, column, shape.ok() ? &*shape : nullptr);
    return *transform_;
  }
  Datum Apply(Datum datum, const ColumnTraits& column = {.type_oid = pgoutput::kTextOid},
              const TypeModes& modes = {}) {
    const auto result = Transform(column, modes).Apply(std::move(datum), arena_);
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *result : Datum();
  }
  // "NULL" for NULL.
  std::string Text(Datum datum, const ColumnTraits& column = {.type_oid = pgoutput::kTextOid}) {
    const Datum result = Apply(std::move(datum), column);
    const auto* text = std::get_if<std::string_view>(&result.value);
    return text == nullptr ? "NULL" : std::string(*text);
  }
  std::string Raw(OptionalBytes bytes, uint32_t type_oid = pgoutput::kTextOid) {
    const auto result = Transform({.type_oid = type_oid}).ApplyToBytes(bytes, arena_);
    EXPECT_THAT(result, IsOk());
    return result.ok() && *result ? std::string(**result) : "NULL";
  }
  // "name=value", or "" without one.
  std::string Parameter(uint32_t type_oid, int32_t modifier = -1) {
    const auto parameter =
        Transform({.type_oid = type_oid, .type_modifier = modifier}).SchemaParameter();
    return parameter ? parameter->first + "=" + parameter->second : "";
  }

  ColumnTransform rule_;
  std::unique_ptr<ValueTransform> transform_;
  Arena arena_;
};

TEST_F(ValueTransformTest, TextIsTruncatedToCodeUnits) {
  Truncate(3);
  EXPECT_EQ(Text({"abcdef"sv}), "abc");
  EXPECT_EQ(Text({"abc"sv}), "abc");
  EXPECT_EQ(Text({""sv}), "");
  EXPECT_EQ(Text({"ü€xyz"sv}), "ü€x");
  EXPECT_EQ(Text({"ü\U0001d11ex"sv}), "ü\U0001d11e");
  EXPECT_EQ(Text({}), "NULL");
  Truncate(0);
  EXPECT_EQ(Text({"x"sv}), "");
}

TEST_F(ValueTransformTest, HalfOfAPairIsALoneSurrogate) {
  Truncate(2);
  EXPECT_EQ(Text({"x\U0001d11e"sv}), "x\xED\xA0\xB4");
  EXPECT_EQ(Raw("x\U0001d11e"), "x?");
  EXPECT_EQ(Raw("xyz"), "xy");
}

TEST_F(ValueTransformTest, BytesThatAreNotUtf8CountAsCharacters) {
  Truncate(2);
  EXPECT_EQ(Text({"x\xF0\x9D\x84"sv}), "x\xF0");
  EXPECT_EQ(Text({"\xFF\xFE\xFD"sv}), "\xFF\xFE");
  Truncate(1);
  EXPECT_EQ(Text({"\xF0\x9D"sv}), "\xF0");
  Hash(Kind::kHashSerialized);
  EXPECT_EQ(Text({"\xF0\x9D"sv}).size(), 64u);
}

TEST_F(ValueTransformTest, TruncationAppliesToAllTextsAndBytes) {
  Truncate(4);
  EXPECT_EQ(Text({"12345678-1234"sv}, {.type_oid = pgoutput::kUuidOid}), "1234");
  EXPECT_EQ(Text({R"({"a":1})"sv}, {.type_oid = pgoutput::kJsonbOid}), R"({"a")");
  const Datum bytes = Apply({Bytes{"\x01\x02\x03\x04\x05"sv}}, {.type_oid = pgoutput::kByteaOid});
  EXPECT_EQ(std::get<Bytes>(bytes.value).bytes, "\x01\x02\x03\x04");
  EXPECT_EQ(Raw("\x01\x02\x03\x04\xC3", pgoutput::kByteaOid), "\x01\x02\x03\x04");
  const Datum text =
      Apply({"0102030405"sv}, {.type_oid = pgoutput::kByteaOid}, {.binary = BinaryMode::kHex});
  EXPECT_EQ(std::get<std::string_view>(text.value), "0102");
}

TEST_F(ValueTransformTest, TruncationLeavesOtherValues) {
  Truncate(1);
  EXPECT_EQ(std::get<int64_t>(Apply({int64_t{123}}, {.type_oid = pgoutput::kInt4Oid}).value), 123);
  const Datum bits =
      Apply({Bytes{"\x01\x02"sv}}, {.type_oid = pgoutput::kBitOid, .type_modifier = 9});
  EXPECT_EQ(std::get<Bytes>(bits.value).bytes.size(), 2u);
  EXPECT_FALSE(Transform({.type_oid = 1009}).suits_type());
}

TEST_F(ValueTransformTest, ShorterColumnIsNotTruncated) {
  Truncate(10);
  EXPECT_EQ(Parameter(pgoutput::kVarcharOid, kVarchar10), "");
  EXPECT_EQ(Parameter(pgoutput::kTextOid), "truncateLength=10");
  EXPECT_EQ(Parameter(pgoutput::kInt4Oid), "");
  EXPECT_EQ(Parameter(pgoutput::kInt8Oid), "truncateLength=10");
  EXPECT_EQ(Parameter(pgoutput::kNumericOid), "truncateLength=10");
  EXPECT_EQ(Parameter(pgoutput::kNumericOid, kNumeric12By3), "truncateLength=10");
  EXPECT_EQ(Parameter(pgoutput::kTimeOid, 0), "");
  EXPECT_EQ(Parameter(pgoutput::kTimeOid, 1), "truncateLength=10");
  EXPECT_EQ(Parameter(1015, kVarchar10), "");  // varchar(10)[]
  EXPECT_EQ(Parameter(1015), "truncateLength=10");
  Truncate(35);
  EXPECT_EQ(Parameter(pgoutput::kTimestamptzOid), "");
  EXPECT_EQ(Parameter(pgoutput::kIntervalOid), "truncateLength=35");
}

TEST_F(ValueTransformTest, MaskReplacesCharacterTypesAlsoNull) {
  Mask(3);
  for (const uint32_t oid : {pgoutput::kTextOid, pgoutput::kVarcharOid, pgoutput::kBpcharOid,
                             pgoutput::kNameOid, pgoutput::kCharOid}) {
    EXPECT_EQ(Text({"secret"sv}, {.type_oid = oid}), "***") << oid;
  }
  EXPECT_EQ(Text({}), "***");
  EXPECT_EQ(Raw(std::nullopt), "***");
  EXPECT_EQ(Text({"sad"sv}, {.type_oid = 16400, .enum_labels = {"sad"}}), "***");
  EXPECT_EQ(Parameter(pgoutput::kTextOid), "masked=true");
}

TEST_F(ValueTransformTest, MaskAndHashLeaveOtherTypesButMarkTheSchema) {
  Mask(3);
  for (const uint32_t oid : {pgoutput::kUuidOid, pgoutput::kJsonbOid, pgoutput::kInetOid}) {
    EXPECT_EQ(Text({"x"sv}, {.type_oid = oid}), "x") << oid;
    EXPECT_EQ(Parameter(oid), "masked=true");
  }
  Hash(Kind::kHash);
  EXPECT_EQ(Raw("x", pgoutput::kJsonOid), "x");
  EXPECT_FALSE(Transform({.type_oid = pgoutput::kInt4Oid}).suits_type());
}

// Computed with java.security.MessageDigest, and again with Python's hashlib.
TEST_F(ValueTransformTest, HashIsOfSaltAndUtf8) {
  Hash(Kind::kHash);
  EXPECT_EQ(Text({"plain"sv}), "965b73b43692abc0cbf8201cd29aa571e04d7606b9f6584c042277b22a19f9a1");
  EXPECT_EQ(Text({""sv}), "63479ad69a090b258277ec8fba6f99419a2ffb248981510657c944ccd1148e97");
  EXPECT_EQ(Text({"\U0001d11e"sv}),
            "d0fb56596022c147d92ab5f08dfce9563b2b92241aa9a60736c4a44fd9c78e86");
  EXPECT_EQ(Text({}), "NULL");
  EXPECT_EQ(Raw(std::nullopt), "NULL");
}

TEST_F(ValueTransformTest, SerializedHashIsOfSaltAndObjectStream) {
  Hash(Kind::kHashSerialized);
  EXPECT_EQ(Text({"plain"sv}), "d88f0e9c9193fc40ed5501ffd6b5ab6c664cb754ebd7ed38be73293227281f0e");
  EXPECT_EQ(Text({""sv}), "5b3d6ca0412baec5bd29469bcf15b3d11a89841fb2aaed6509e63dd51531bbb0");
  EXPECT_EQ(Text({"ü€"sv}), "e495512746045939e685d827342ff1593551fa89318d36c1ba1cea61304c1d2e");
  EXPECT_EQ(Text({"\U0001d11e"sv}),
            "d94036a3d706c72a6d0379d822e0bbfc815d726a80a865cc68cf4dc7a4eb4756");
  const std::string longest(70'000, 'a');
  EXPECT_EQ(Text({std::string_view(longest)}),
            "ca2b52066782e399ff34cfba8e6012f5f9699cc26bb9a3ca79fe44a0ac7f57c4");
}

TEST_F(ValueTransformTest, HashIsNotLongerThanTheColumn) {
  Hash(Kind::kHash);
  EXPECT_EQ(Text({"plain"sv}, {.type_oid = pgoutput::kVarcharOid, .type_modifier = kVarchar10}),
            "965b73b436");
  EXPECT_EQ(Text({"p"sv}, {.type_oid = pgoutput::kCharOid}).size(), 1u);
}

}  // namespace
}  // namespace walrelay

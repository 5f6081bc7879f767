// OIDs of the built-in Postgres types that are handled by name. They never change.
//
// Source: src/include/catalog/pg_type.dat.
//
// The list has the types whose text or binary form is converted somewhere; all others are passed on
// as the server sends them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace walrelay::pgoutput {

enum TypeOid : uint32_t {
  kBoolOid = 16,
  kByteaOid = 17,
  kCharOid = 18,  // "char", one byte
  kNameOid = 19,
  kInt8Oid = 20,
  kInt2Oid = 21,
  kInt4Oid = 23,
  kTextOid = 25,
  kOidOid = 26,
  kJsonOid = 114,
  kXmlOid = 142,
  kPointOid = 600,
  kLineSegmentOid = 601,
  kPathOid = 602,
  kBoxOid = 603,
  kPolygonOid = 604,
  kLineOid = 628,
  kCidrOid = 650,
  kFloat4Oid = 700,
  kFloat8Oid = 701,
  kCircleOid = 718,
  kMacaddr8Oid = 774,
  kMacaddrOid = 829,
  kInetOid = 869,
  kBpcharOid = 1042,
  kVarcharOid = 1043,
  kDateOid = 1082,
  kTimeOid = 1083,
  kTimestampOid = 1114,
  kTimestamptzOid = 1184,
  kIntervalOid = 1186,
  kTimetzOid = 1266,
  kBitOid = 1560,
  kVarbitOid = 1562,
  kNumericOid = 1700,
  kRecordOid = 2249,
  kUuidOid = 2950,
  kTsvectorOid = 3614,
  kJsonbOid = 3802,
  kInt4RangeOid = 3904,
  kNumRangeOid = 3906,
  kTsRangeOid = 3908,
  kTstzRangeOid = 3910,
  kDateRangeOid = 3912,
  kInt8RangeOid = 3926,
};

// 0: not one of these.
// `name` as in pg_type.typname, without schema: the caller checks that it is pg_catalog. Compares
// bytes.
constexpr uint32_t OidOfType(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
      {"bool", kBoolOid},
      {"bytea", kByteaOid},
      {"name", kNameOid},
      {"int8", kInt8Oid},
      {"int2", kInt2Oid},
      {"int4", kInt4Oid},
      {"text", kTextOid},
      {"json", kJsonOid},
      {"bpchar", kBpcharOid},
      {"varchar", kVarcharOid},
      {"timestamp", kTimestampOid},
      {"timestamptz", kTimestamptzOid},
      {"uuid", kUuidOid},
      {"jsonb", kJsonbOid},
      {"numeric", kNumericOid},
      {"float4", kFloat4Oid},
      {"float8", kFloat8Oid},
      {"date", kDateOid},
      {"time", kTimeOid},
      {"timetz", kTimetzOid},
      {"inet", kInetOid},
      {"cidr", kCidrOid},
      {"xml", kXmlOid},
      {"oid", kOidOid},
      {"char", kCharOid},
      {"interval", kIntervalOid},
      {"bit", kBitOid},
      {"varbit", kVarbitOid},
      {"macaddr", kMacaddrOid},
      {"macaddr8", kMacaddr8Oid},
      {"tsvector", kTsvectorOid},
      {"int4range", kInt4RangeOid},
      {"numrange", kNumRangeOid},
      {"tsrange", kTsRangeOid},
      {"tstzrange", kTstzRangeOid},
      {"daterange", kDateRangeOid},
      {"int8range", kInt8RangeOid},
      {"point", kPointOid},
      {"lseg", kLineSegmentOid},
      {"path", kPathOid},
      {"box", kBoxOid},
      {"polygon", kPolygonOid},
      {"line", kLineOid},
      {"circle", kCircleOid},
  };
  for (const auto& [known, oid] : kTypes) {
    if (known == name) {
      return oid;
    }
  }
  return 0;
}

// The element type of an array of a type handled by name. 0: not such an array.
constexpr uint32_t ElementOid(uint32_t array_oid) {
  constexpr std::pair<uint32_t, uint32_t> kArrays[] = {
      {1000, kBoolOid},      {1001, kByteaOid},     {1005, kInt2Oid},    {1007, kInt4Oid},
      {1009, kTextOid},      {1014, kBpcharOid},    {1015, kVarcharOid}, {1016, kInt8Oid},
      {1021, kFloat4Oid},    {1022, kFloat8Oid},    {1041, kInetOid},    {651, kCidrOid},
      {1115, kTimestampOid}, {1182, kDateOid},      {1183, kTimeOid},    {1185, kTimestamptzOid},
      {1231, kNumericOid},   {1270, kTimetzOid},    {199, kJsonOid},     {3807, kJsonbOid},
      {2951, kUuidOid},      {1028, kOidOid},       {1040, kMacaddrOid}, {775, kMacaddr8Oid},
      {3905, kInt4RangeOid}, {3907, kNumRangeOid},  {3909, kTsRangeOid}, {3911, kTstzRangeOid},
      {3913, kDateRangeOid}, {3927, kInt8RangeOid},
  };
  for (const auto& [array, element] : kArrays) {
    if (array == array_oid) {
      return element;
    }
  }
  return 0;
}

// OIDs from here on are user-defined types: enums, domains, composite types.
inline constexpr uint32_t kFirstUserOid = 16384;

}  // namespace walrelay::pgoutput

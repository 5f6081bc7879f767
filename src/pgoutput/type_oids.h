// OIDs of Postgres' built-in types, as far as they are treated by name. They never change.
//
// Source: src/include/catalog/pg_type.dat.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace walrelay::pgoutput {

enum TypeOid : uint32_t {
  kBoolOid = 16,
  kByteaOid = 17,
  kNameOid = 19,
  kInt8Oid = 20,
  kInt2Oid = 21,
  kInt4Oid = 23,
  kTextOid = 25,
  kJsonOid = 114,
  kBpcharOid = 1042,
  kVarcharOid = 1043,
  kTimestampOid = 1114,
  kTimestamptzOid = 1184,
  kUuidOid = 2950,
  kJsonbOid = 3802,
};

// 0: none of these.
constexpr uint32_t OidOfType(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
      {"bool", kBoolOid},       {"bytea", kByteaOid},         {"name", kNameOid},
      {"int8", kInt8Oid},       {"int2", kInt2Oid},           {"int4", kInt4Oid},
      {"text", kTextOid},       {"json", kJsonOid},           {"bpchar", kBpcharOid},
      {"varchar", kVarcharOid}, {"timestamp", kTimestampOid}, {"timestamptz", kTimestamptzOid},
      {"uuid", kUuidOid},       {"jsonb", kJsonbOid},
  };
  for (const auto& [known, oid] : kTypes) {
    if (known == name) {
      return oid;
    }
  }
  return 0;
}

}  // namespace walrelay::pgoutput

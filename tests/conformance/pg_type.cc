#include "conformance/pg_type.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "pgoutput/type_oids.h"

namespace walrelay::conformance {
namespace {

constexpr uint32_t kEnumOid = 17001;

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"integer", "int4"},
    {"int", "int4"},
    {"bigint", "int8"},
    {"smallint", "int2"},
    {"boolean", "bool"},
    {"real", "float4"},
    {"double precision", "float8"},
    {"decimal", "numeric"},
    {"char", "bpchar"},
    {"character", "bpchar"},
    {"character varying", "varchar"},
    {"timestamp without time zone", "timestamp"},
    {"timestamp with time zone", "timestamptz"},
    {"time without time zone", "time"},
    {"time with time zone", "timetz"}};

// The type modifier of arguments such as "(10,2)".
int32_t ModifierOf(uint32_t oid, const std::vector<int>& arguments) {
  if (arguments.empty()) {
    return -1;
  }
  switch (oid) {
    case pgoutput::kNumericOid: {
      const int scale = arguments.size() > 1 ? arguments[1] : 0;
      return (arguments[0] << 16 | (scale & 0x7FF)) + 4;
    }
    case pgoutput::kVarcharOid:
    case pgoutput::kBpcharOid:
      return arguments[0] + 4;
    default:
      return arguments[0];
  }
}

uint32_t ArrayOid(uint32_t element) {
  for (uint32_t oid = 1; oid < 4096; ++oid) {
    if (pgoutput::ElementOid(oid) == element) {
      return oid;
    }
  }
  return 0;
}

// 'a','it''s'
std::vector<std::string> Labels(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool quote = text[i] == '\'';
    const bool doubled = quote && text.substr(i + 1).starts_with('\'');
    if (quote && !(inside && doubled)) {
      inside = !inside;
      out.resize(out.size() + (inside ? 1 : 0));
    } else if (inside) {
      out.back() += text[i];
      i += quote ? 1 : 0;
    }
  }
  return out;
}

std::vector<int> Numbers(std::string_view text) {
  std::vector<int> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int number = 0;
    const auto result = std::from_chars(at, end, number);
    if (result.ec == std::errc()) {
      out.push_back(number);
      at = result.ptr;
    } else {
      ++at;
    }
  }
  return out;
}

}  // namespace

PgType ParsePgType(std::string_view name) {
  const bool is_array = name.ends_with("[]");
  name.remove_suffix(is_array ? 2 : 0);
  const size_t open = name.find('(');
  std::string base(name.substr(0, open));
  std::string_view arguments;
  if (open != name.npos) {
    const size_t close = name.find(')', open);
    arguments = name.substr(open + 1, close - open - 1);
    base += name.substr(close + 1);  // "timestamp(3) with time zone"
  }
  if (base == "enum") {
    std::vector<std::string> labels = Labels(arguments);
    labels.resize(std::max<size_t>(labels.size(), 1));  // as read from the catalog
    return {kEnumOid, -1, std::move(labels)};
  }
  for (const auto& [alias, real] : kAliases) {
    base = base == alias ? std::string(real) : base;
  }
  PgType out{.oid = pgoutput::OidOfType(base)};
  out.modifier = ModifierOf(out.oid, Numbers(arguments));
  out.oid = is_array ? ArrayOid(out.oid) : out.oid;
  return out;
}

}  // namespace walrelay::conformance

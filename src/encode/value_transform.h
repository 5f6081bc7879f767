// ValueTransform: a configured transform (ColumnTransform), bound to the type of its column.
//
// Has the effect of Debezium's column mappers on the value that Debezium has for the column: text
// is counted in UTF-16 code units; a mask and a hash apply to character types and enums only; a
// hash is not longer than the column. A text that is cut within a surrogate pair ends with the
// three bytes of a lone surrogate, as the texts of JSON documents do (json_string.h).
//
// Source: io.debezium.relational.mapping.MaskStrings and TruncateColumn;
// org.postgresql.jdbc.TypeInfoCache.getPrecision() for the length of a column.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "base/digest.h"
#include "encode/column_value.h"
#include "encode/connect_column_type.h"
#include "encode/schema.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

// Does not change, except for the memory of its digest: not thread-safe. Results point into the
// value, the arena, or this object.
class ValueTransform {
 public:
  // `rule` must outlive this object. `shape`: nullptr for a type that Connect's formats do not
  // support.
  ValueTransform(const ColumnTransform& rule, const ColumnTraits& column,
                 const ConnectColumnType* shape);

  // False: values of the column's type stay as they are.
  bool suits_type() const { return target_ != Target::kNothing; }

  // The parameter that Debezium adds to the column's schema, even if suits_type() is false;
  // nullopt: none.
  std::optional<std::pair<std::string, std::string>> SchemaParameter() const;

  // Errors: WR-3007 for an algorithm that OpenSSL does not provide.
  absl::StatusOr<Datum> Apply(Datum datum, Arena& arena) const;
  // The same for a value in raw form (column_value.h). The result is valid UTF-8 if the value is:
  // half of a surrogate pair becomes "?", as Java encodes it.
  absl::StatusOr<OptionalBytes> ApplyToBytes(OptionalBytes bytes, Arena& arena) const;

 private:
  enum class Target : uint8_t { kNothing, kText, kBytes };

  bool can_truncate() const { return column_length_ > rule_->length; }
  absl::StatusOr<std::string_view> Text(std::string_view text, Arena& arena) const;

  const ColumnTransform* rule_;
  Target target_ = Target::kNothing;
  int64_t column_length_ = std::numeric_limits<int32_t>::max();  // as PgJDBC reports it
  std::string mask_;
  std::unique_ptr<Digest> digest_;  // nullptr: no hash
};

}  // namespace walrelay

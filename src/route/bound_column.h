// BoundColumn: a part of an event, where it is in the rows of a table, and its value in a row.
//
// Pure functions. Results point into the row or into the arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/column_value.h"
#include "encode/connect_column_type.h"
#include "encode/schema.h"
#include "encode/value_transform.h"
#include "pgoutput/message.h"

namespace walrelay {

// A part of an event, and where it is in a row.
// Does not refer to the relation that it was bound with: an index and a type.
struct BoundColumn {
  int index = -1;  // -1: the part is absent
  uint32_t type_oid = 0;
  std::shared_ptr<const ConnectColumnType>
      shape;  // of a part in a Connect format; otherwise nullptr
  std::shared_ptr<const ValueTransform> transform;  // of a table's column; nullptr: none

  bool present() const { return index >= 0; }
};

// REQUIRES: the part is present, and the row has the number of columns of the binding
// (Router::Route() checks it).
inline const pgoutput::TupleValue& ValueOf(pgoutput::Tuple row, const BoundColumn& column) {
  return row[static_cast<size_t>(column.index)];
}

// The value in raw form, and in Connect's model, as the column's transform leaves it.
// REQUIRES: as for ValueOf(); DatumOf(): the column has a shape.
absl::StatusOr<OptionalBytes> BytesOf(pgoutput::Tuple row, const BoundColumn& column, Arena& arena);
absl::StatusOr<Datum> DatumOf(pgoutput::Tuple row, const BoundColumn& column, Arena& arena);
// A value of the column as Java encodes its text.
// REQUIRES: it is not null, and the column has a shape.
std::string_view TextOf(const BoundColumn& column, const Datum& datum, Arena& arena);

// A column whose schema lists the labels of its enum.
struct EnumColumn {
  size_t index = 0;
  std::vector<std::string> labels;  // known when the session began
};

}  // namespace walrelay

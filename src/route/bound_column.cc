#include "route/bound_column.h"

#include <utility>
#include <variant>

#include "encode/column_datum.h"
#include "encode/connect_text.h"
#include "encode/temporal_datum.h"

namespace walrelay {

absl::StatusOr<OptionalBytes> BytesOf(pgoutput::Tuple row, const BoundColumn& column,
                                      Arena& arena) {
  auto bytes = ColumnBytes(ValueOf(row, column), column.type_oid, arena);
  if (column.transform == nullptr || !bytes.ok()) {
    return bytes;
  }
  return column.transform->ApplyToBytes(*bytes, arena);
}

absl::StatusOr<Datum> DatumOf(pgoutput::Tuple row, const BoundColumn& column, Arena& arena) {
  auto datum = ColumnDatum(ValueOf(row, column), *column.shape, arena);
  if (column.transform == nullptr || !datum.ok()) {
    return datum;
  }
  return column.transform->Apply(*std::move(datum), arena);
}

// Only a text that was cut may contain what cannot be encoded.
std::string_view TextOf(const BoundColumn& column, const Datum& datum, Arena& arena) {
  const auto* plain = std::get_if<std::string_view>(&datum.value);
  if (plain != nullptr && column.transform == nullptr) {
    return *plain;
  }
  std::string text;
  AppendHeaderText(*column.shape->schema, datum, text);
  return Keep(text, arena);
}

}  // namespace walrelay

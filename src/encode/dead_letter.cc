#include "encode/dead_letter.h"

#include "base/text.h"
#include "walrelay/error.h"
#include "walrelay/events/v1/dead_letter.pb.h"

namespace walrelay {
namespace {

// The maximum size of each value in the dead letter.
// Equal shares rather than the first bytes: each column keeps its beginning, and a long one does
// not remove the others.
size_t LongestValue(pgoutput::Tuple row, size_t max_row_bytes) {
  size_t bytes = 0;
  for (const pgoutput::TupleValue& value : row) {
    bytes += value.bytes.size();
  }
  return bytes <= max_row_bytes ? bytes : max_row_bytes / row.size();
}

}  // namespace

// Protobuf and not JSON: values may be any bytes, and readers must not guess how they were escaped.
std::string EncodeDeadLetter(const absl::Status& reason, const pgoutput::CachedRelation& relation,
                             pgoutput::Tuple row, const DeadLetterPosition& position,
                             size_t max_row_bytes) {
  events::v1::DeadLetter letter;
  letter.set_code(ToString(CodeOf(reason)));
  // Printable(), because text that is not UTF-8, such as names in a SQL_ASCII database, would make
  // the message unreadable.
  letter.set_reason(Printable(MessageOf(reason)));
  letter.set_schema(Printable(relation.schema));
  letter.set_table(Printable(relation.name));
  letter.set_commit_lsn(position.row.commit_lsn.value());
  letter.set_ordinal(position.ordinal);
  letter.set_row_lsn(position.row.row_lsn.value());
  letter.set_row_index(position.row.index);
  letter.set_transaction_id(position.xid);
  letter.set_commit_time_us(position.commit_time.time_since_epoch().count());
  const size_t longest = LongestValue(row, max_row_bytes);
  for (size_t i = 0; i < row.size() && i < relation.columns.size(); ++i) {
    auto* column = letter.add_columns();
    column->set_name(Printable(relation.columns[i].name));
    column->set_type_oid(relation.columns[i].type_oid);
    if (!row[i].is_null()) {
      column->set_value(std::string(row[i].bytes.substr(0, longest)));
      // The original size, so that a reader knows what is missing; 0 if the value is complete.
      column->set_cut_from(row[i].bytes.size() > longest ? row[i].bytes.size() : 0);
      column->set_binary(row[i].kind == pgoutput::TupleValue::Kind::kBinary);
    }
  }
  return letter.SerializeAsString();
}

}  // namespace walrelay

// MessageRow: presents a logical message (pg_logical_emit_message) as a row of a virtual table.
//
// The content is a JSON object; its members are the columns, each of the type that fits its value:
// text, boolean, int4 or int8 by size, float8, bytea for null, and for objects and arrays a type
// whose text is their JSON, unchanged. Routing, blocking and dead-lettering then treat it like any
// other row. Not thread-safe; no I/O.
//
// Source: io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "encode/json_document.h"
#include "encode/row_limits.h"
#include "pgoutput/message.h"
#include "walrelay/config/format.h"

namespace walrelay {

// The relation OID of messages. No table has this OID.
// InvalidOid in Postgres.
inline constexpr uint32_t kMessageRelation = 0;

class MessageRow {
 public:
  // Members that are null: kIgnore omits them, kOptionalBytes makes them NULL.
  // Content of more than limits.raw_bytes (four times kafka.max_record_bytes) is not parsed.
  MessageRow(NullMembers nulls, const RowLimits& limits)
      : nulls_(nulls), most_bytes_(limits.raw_bytes), document_(limits.json_values) {}

  // A new session begins: the next row is treated as one with new columns.
  // REQUIRES: called when the relation cache of the session is cleared; otherwise the row's
  // description would be missing there.
  void Forget() {
    known_.clear();
    known_prefix_.clear();
    knows_any_ = false;
  }

  // Errors: WR-3006 for content beyond the limits, which is not parsed; WR-3007 for content that is
  // not such an object. The row then has one column, "content".
  // `content` must outlive the use of row() and relation(); `prefix` is copied. An object with more
  // than 1600 members (a Postgres table's limit), an integer of more than 64 bits, or half of a
  // surrogate pair is WR-3007. Objects and arrays keep their text, byte for byte.
  absl::Status Read(std::string_view prefix, std::string_view content);

  // Whether the columns differ from those of the previous row. True after the first Read().
  // Names, types, their order and the prefix are compared. A change means that the row must be
  // described (Router::OnRelation()) before it is routed.
  bool has_new_columns() const { return has_new_columns_; }
  // Both are valid until the next Read(), and no longer than its content.
  pgoutput::Relation relation() const;
  pgoutput::Tuple row() const { return values_; }

 private:
  // Parses the content, and adds a column for each member.
  absl::Status ReadObject(std::string_view content);
  // WR-3007 for a value that no column can represent.
  absl::Status AddMember(std::string_view name, const JsonValue& value);
  void Add(std::string_view name, uint32_t type_oid, std::string_view text);
  // Compares names and types with those of the previous row.
  void Compare();

  const NullMembers nulls_;
  const size_t most_bytes_;
  JsonDocument document_;
  std::string prefix_;
  std::vector<pgoutput::Column> columns_;
  std::vector<pgoutput::TupleValue> values_;

  // Copies: the names in columns_ are views of the message.
  struct Known {
    std::string name;
    uint32_t type_oid = 0;
  };
  std::vector<Known> known_;  // the columns of the previous row
  std::string known_prefix_;
  bool knows_any_ = false;
  bool has_new_columns_ = false;
};

}  // namespace walrelay

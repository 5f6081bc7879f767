// Encodes pgoutput messages as Postgres does: the counterpart of the decoder, for tests.
//
// Source: src/backend/replication/logical/proto.c.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endian.h"
#include "pgoutput/message.h"
#include "pgoutput/wire_types.h"
#include "walrelay/lsn.h"

namespace walrelay::testing {

class ByteWriter {
 public:
  template <std::integral T>
  ByteWriter& Put(T value) {
    char bytes[sizeof(T)];
    StoreBigEndian(value, bytes);
    out_.append(bytes, sizeof(T));
    return *this;
  }
  ByteWriter& Put(Lsn lsn) { return Put(lsn.value()); }
  ByteWriter& Put(WallTime time) { return Put(pgoutput::ToPostgresTime(time)); }
  ByteWriter& PutBytes(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  ByteWriter& PutCString(std::string_view text) { return PutBytes(text).Put('\0'); }

  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// One value of a tuple, as the server encodes it.
struct Value {
  static Value Null() { return {'n', {}}; }
  static Value Unchanged() { return {'u', {}}; }
  static Value Text(std::string_view bytes) { return {'t', std::string(bytes)}; }
  static Value Binary(std::string_view bytes) { return {'b', std::string(bytes)}; }

  char kind;
  std::string bytes;
};
using Row = std::vector<Value>;

// A row of text values; nullopt for NULL.
inline Row TextRow(std::vector<std::optional<std::string>> values) {
  Row row;
  for (const auto& value : values) {
    row.push_back(value ? Value::Text(*value) : Value::Null());
  }
  return row;
}

// Converts a decoded row, to encode it again.
inline Row RowOf(pgoutput::Tuple tuple) {
  Row row;
  for (const pgoutput::TupleValue& value : tuple) {
    row.push_back({static_cast<char>(value.kind), std::string(value.bytes)});
  }
  return row;
}

struct ColumnSpec {
  std::string name;
  uint32_t type_oid = 25;  // text
  bool part_of_key = false;
  int32_t type_modifier = -1;
};

inline std::string BeginMessage(Lsn final_lsn, WallTime commit_time, uint32_t xid) {
  return ByteWriter().Put('B').Put(final_lsn).Put(commit_time).Put(xid).Take();
}

inline std::string CommitMessage(Lsn commit_lsn, Lsn end_lsn, WallTime commit_time) {
  return ByteWriter().Put('C').Put(uint8_t{0}).Put(commit_lsn).Put(end_lsn).Put(commit_time).Take();
}

inline std::string OriginMessage(Lsn lsn, std::string_view name) {
  return ByteWriter().Put('O').Put(lsn).PutCString(name).Take();
}

inline std::string RelationMessage(uint32_t oid, std::string_view schema, std::string_view name,
                                   const std::vector<ColumnSpec>& columns,
                                   char replica_identity = 'd') {
  ByteWriter out;
  out.Put('R').Put(oid).PutCString(schema).PutCString(name).Put(replica_identity);
  out.Put(static_cast<uint16_t>(columns.size()));
  for (const ColumnSpec& column : columns) {
    out.Put(static_cast<uint8_t>(column.part_of_key)).PutCString(column.name);
    out.Put(column.type_oid).Put(column.type_modifier);
  }
  return out.Take();
}

inline void PutRow(ByteWriter& out, const Row& row) {
  out.Put(static_cast<uint16_t>(row.size()));
  for (const Value& value : row) {
    out.Put(value.kind);
    if (value.kind == 't' || value.kind == 'b') {
      out.Put(static_cast<uint32_t>(value.bytes.size())).PutBytes(value.bytes);
    }
  }
}

inline std::string InsertMessage(uint32_t oid, const Row& row) {
  ByteWriter out;
  out.Put('I').Put(oid).Put('N');
  PutRow(out, row);
  return out.Take();
}

inline std::string UpdateMessage(uint32_t oid, const Row& row, std::optional<Row> old_row = {}) {
  ByteWriter out;
  out.Put('U').Put(oid);
  if (old_row) {
    out.Put('O');
    PutRow(out, *old_row);
  }
  out.Put('N');
  PutRow(out, row);
  return out.Take();
}

inline std::string DeleteMessage(uint32_t oid, const Row& old_row) {
  ByteWriter out;
  out.Put('D').Put(oid).Put('K');
  PutRow(out, old_row);
  return out.Take();
}

inline std::string TruncateMessage(const std::vector<uint32_t>& oids, uint8_t flags = 0) {
  ByteWriter out;
  out.Put('T').Put(static_cast<uint32_t>(oids.size())).Put(flags);
  for (const uint32_t oid : oids) {
    out.Put(oid);
  }
  return out.Take();
}

inline std::string TypeMessage(uint32_t oid, std::string_view schema, std::string_view name) {
  return ByteWriter().Put('Y').Put(oid).PutCString(schema).PutCString(name).Take();
}

inline std::string LogicalMessage(bool transactional, Lsn lsn, std::string_view prefix,
                                  std::string_view content) {
  return ByteWriter()
      .Put('M')
      .Put(static_cast<uint8_t>(transactional))
      .Put(lsn)
      .PutCString(prefix)
      .Put(static_cast<uint32_t>(content.size()))
      .PutBytes(content)
      .Take();
}

inline std::string StreamAbortMessage(uint32_t xid, uint32_t subxid) {
  return ByteWriter().Put('A').Put(xid).Put(subxid).Take();
}

inline std::string XLogDataMessage(std::string_view payload, WallTime sent = {}, Lsn start = {}) {
  return ByteWriter().Put('w').Put(start).Put(start).Put(sent).PutBytes(payload).Take();
}

inline std::string KeepaliveMessage(Lsn wal_end, bool reply_requested, WallTime sent = {}) {
  return ByteWriter()
      .Put('k')
      .Put(wal_end)
      .Put(sent)
      .Put(static_cast<uint8_t>(reply_requested))
      .Take();
}

}  // namespace walrelay::testing

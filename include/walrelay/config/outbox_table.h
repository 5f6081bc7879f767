// An outbox table: its columns, and what is done with them.
//
// Part of [source]: see walrelay/config/source.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "walrelay/config/column_names.h"
#include "walrelay/secret.h"

namespace walrelay {

// The column for each part of a record. nullopt: found by its default names, walrelay's first, then
// Debezium's. Empty: no column (optional parts only).
struct ColumnMapping {
  std::optional<ColumnNames> id;              // id
  std::optional<ColumnNames> aggregate_type;  // aggregate_type, aggregatetype
  std::optional<ColumnNames> aggregate_id;    // aggregate_id, aggregateid
  std::optional<ColumnNames> event_type;      // event_type, type; optional
  std::optional<ColumnNames> payload;         // payload
  std::optional<ColumnNames> trace_id;        // trace_id; optional
  std::optional<ColumnNames> traceparent;     // traceparent; optional
  std::optional<ColumnNames> tracestate;      // tracestate; optional
  std::optional<ColumnNames> span_context;    // tracingspancontext; optional
  std::optional<ColumnNames> version;         // none; optional, and only for an envelope

  // Every column above, in this order, for code that treats all alike.
  std::array<const std::optional<ColumnNames>*, 10> all() const {
    return {&id,       &aggregate_type, &aggregate_id, &event_type,   &payload,
            &trace_id, &traceparent,    &tracestate,   &span_context, &version};
  }

  bool operator==(const ColumnMapping&) const = default;
};

// Debezium's table.fields.additional.placement.
// At most one per table may be the partition, whose column is an integer; for NULL the key decides.
struct Placement {
  enum class Where : uint8_t { kHeader, kEnvelope, kPartition };

  ColumnNames column;
  Where where = Where::kHeader;
  std::string name;  // of the header, or of the envelope's member

  bool operator==(const Placement&) const = default;
};

// A message digest, as java.security.MessageDigest calls it.
enum class HashAlgorithm : uint8_t {
  kMd5,
  kSha1,
  kSha224,
  kSha256,
  kSha384,
  kSha512,
  kSha512To224,
  kSha512To256,
  kSha3To224,
  kSha3To256,
  kSha3To384,
  kSha3To512
};

// Replaces the values of a column wherever they are used: topic, key, headers, value, dead letter
// and messages. A table has at most one per column. Rows of tables only, not logical messages.
// kTruncate: the first `length` characters, or bytes of a bytea. kMask: `length` asterisks, also
// for NULL. kHash: the digest of salt and value in hexadecimal. kHashSerialized: the same of the
// value as java.io.ObjectOutputStream writes it. Debezium's column.truncate.to.N.chars,
// column.mask.with.N.chars, column.mask.hash.v2.* and column.mask.hash.*.
struct ColumnTransform {
  enum class Kind : uint8_t { kTruncate, kMask, kHash, kHashSerialized };

  ColumnNames column;  // each of the names that the row has
  Kind kind = Kind::kTruncate;
  int64_t length = 0;  // UTF-16 code units, as in Java; kMask: at most 1,000,000
  HashAlgorithm algorithm = HashAlgorithm::kSha256;
  Secret salt;

  bool operator==(const ColumnTransform&) const = default;
};

// A table whose inserted rows are events.
// Names as in the catalog, without quotes and case-sensitive.
struct OutboxTable {
  std::string schema = "public";
  std::string name = "outbox";
  ColumnMapping columns;
  std::vector<Placement> placements;
  std::vector<ColumnTransform> transforms;

  bool operator==(const OutboxTable&) const = default;
};

}  // namespace walrelay

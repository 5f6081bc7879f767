// LetterRow: the row of a dead letter, as the relay would have it for routing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "encode/stored_dead_letter.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "postgres/row_reader.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// The configured tables as the server has them now; both lists in the same order.
struct CurrentTables {
  std::span<const TableInfo> tables;  // may have entries without a relation: oid 0
  std::span<const pgoutput::CachedRelation> relations;
};

// The table of a letter, with the letter's columns. Types keep their modifiers if the table still
// has these columns. WR-2302 for a table that is not configured or does not exist any more.
absl::StatusOr<pgoutput::CachedRelation> RelationOf(const StoredDeadLetter& letter,
                                                    const SourceConfig& source,
                                                    const CurrentTables& current);

// Whether the letter has less than the row: a value was truncated, or transformed before it was
// written. Then the row has to be read from its table.
bool IsIncomplete(const StoredDeadLetter& letter, const SourceConfig& source);

// Whether the row was a logical message, which is in no table.
bool IsMessage(const StoredDeadLetter& letter);

// The value of the column that the configuration maps to the id, as text; nullopt: NULL, truncated
// or absent, or of a type that has no text here.
std::optional<std::string> RowIdOf(const StoredDeadLetter& letter, const SourceConfig& source);

// Views of `letter`.
std::vector<pgoutput::TupleValue> ValuesOf(const StoredDeadLetter& letter);

}  // namespace walrelay

// RowReader: reads rows of the outbox tables from the tables themselves, not from the WAL.
//
// A row has the columns, types and bytes that the stream has for it, so that the router builds the
// same record. All rows are read in one snapshot, in a read-only transaction that lasts as long as
// the reader: until then VACUUM cannot remove rows that die in the database.
//
// Memory: one row, and what the socket's buffer holds, whatever is selected. Not reading delays the
// server, not the client. Not thread-safe. Blocks while the server computes: sorting a million rows
// takes seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "postgres/connection.h"
#include "postgres/row_query.h"
#include "route/outbox_row.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct RouteConfig;
struct SourceConfig;

class RowReader {
 public:
  // Begins the transaction on `connection`, an ordinary one, and looks up the tables. `snapshot`:
  // as pg_export_snapshot() or CREATE_REPLICATION_SLOT returned it; "": a new one. `source` and
  // `route` must outlive the reader. Errors: those of PgConnection::Query(), WR-2302 for a
  // configured table that does not exist, those of MakeRowQuery().
  static absl::StatusOr<RowReader> Open(PgConnection connection, const SourceConfig& source,
                                        const RouteConfig& route, RowSelection selection,
                                        const std::string& snapshot = {});

  // The configured tables, as Router::StartSession() needs them.
  std::span<const TableInfo> tables() const { return tables_; }
  // Their descriptions, for Router::OnRelation().
  std::vector<pgoutput::CachedRelation> relations() const;

  // The number of rows that are selected, at most the limit. REQUIRES: before the first Next().
  absl::StatusOr<uint64_t> Count();
  // The order of the rows of the first selected table; nullopt if no table is selected.
  std::optional<RowOrder> order() const;
  // Whether source.origin = "none" does not apply: the server does not show the origins of rows.
  bool origins_unknown() const { return origins_unknown_; }

  // The next row, table by table in configuration order; nullopt after the last one. Errors: those
  // of PgConnection; WR-2012 with the exact GRANT for a role without SELECT on the table, or from
  // which a policy would hide rows. After an error the reader must not be used.
  absl::StatusOr<std::optional<OutboxRow>> Next();

 private:
  struct Table {
    pgoutput::CachedRelation relation;
    RowQuery query;  // with the limit of the whole selection
  };

  RowReader(PgConnection connection, RowSelection selection)
      : connection_(std::move(connection)), selection_(std::move(selection)) {}

  absl::Status Begin(const std::string& snapshot);
  absl::Status Describe(const SourceConfig& source, const RouteConfig& route);
  // An error of reading the table, with the GRANT that is missing if it is one.
  absl::Status Explained(const absl::Status& error, const Table& table) const;
  OutboxRow RowOf(const Table& table);

  PgConnection connection_;
  RowSelection selection_;
  bool binary_ = false;
  bool origins_unknown_ = false;
  std::vector<TableInfo> tables_;
  std::vector<std::unique_ptr<Table>> selected_;  // on the heap: rows refer to their relation
  size_t current_ = 0;                            // index in selected_
  bool reading_ = false;                          // the query of the current table was sent
  uint64_t rows_ = 0;                             // returned so far
  std::optional<PgResult> result_;                // of the row that was returned last
  std::vector<pgoutput::TupleValue> values_;
};

}  // namespace walrelay

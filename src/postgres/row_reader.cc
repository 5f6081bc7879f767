#include "postgres/row_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/quote.h"
#include "postgres/catalog_queries.h"
#include "postgres/outbox_tables.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The timeout of a query of the catalog, and of sending the query for rows.
constexpr std::chrono::seconds kBeginTimeout{15};
// Until the next row of a query arrives: an index may be missing, and the result has to be sorted.
constexpr std::chrono::hours kRowTimeout{1};

int64_t Number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

absl::StatusOr<RowReader> RowReader::Open(PgConnection connection, const SourceConfig& source,
                                          const RouteConfig& route, RowSelection selection,
                                          const std::string& snapshot) {
  RowReader reader(std::move(connection), std::move(selection));
  reader.binary_ = source.binary;
  WR_RETURN_IF_ERROR(reader.Begin(snapshot));
  WR_RETURN_IF_ERROR(reader.Describe(source, route));
  return reader;
}

// The session's statement_timeout is for short queries. This one may take long, and waits for
// Kafka.
absl::Status RowReader::Begin(const std::string& snapshot) {
  WR_RETURN_IF_ERROR(
      connection_.Query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", kBeginTimeout)
          .status());
  if (!snapshot.empty()) {
    WR_RETURN_IF_ERROR(
        connection_
            .Query(fmt::format("SET TRANSACTION SNAPSHOT {}", QuoteLiteral(snapshot)),
                   kBeginTimeout)
            .status());
  }
  return connection_.Query("SET LOCAL statement_timeout = 0", kBeginTimeout).status();
}

absl::Status RowReader::Describe(const SourceConfig& source, const RouteConfig& route) {
  WR_ASSIGN_OR_RETURN(const std::string tracked,
                      ReadSetting(connection_, "track_commit_timestamp", kBeginTimeout));
  WR_ASSIGN_OR_RETURN(
      const PgResult snapshot,
      connection_.Query("SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) "
                        "AS next_xid",
                        kBeginTimeout));
  const bool own_rows = source.origin == OriginFilter::kNone;
  const bool known = ShowsOrigins(connection_.server_version_num(), tracked == "on");
  origins_unknown_ = own_rows && !known;
  WR_ASSIGN_OR_RETURN(tables_,
                      ReadTableInfo(connection_, source.publication, source.tables, kBeginTimeout));
  for (size_t i = 0; i < tables_.size(); ++i) {
    const TableInfo& info = tables_[i];
    if (info.name.empty()) {
      continue;  // all events are logical messages
    }
    if (info.oid == 0) {
      return Error(ErrorCode::kTableMissing, fmt::format("{}.{}", info.schema, info.name));
    }
    const auto next_xid = static_cast<uint64_t>(snapshot.Int(0, "next_xid"));
    std::vector<AttachedPartition> attached;
    if (info.partitioned && selection_.proven_from.valid() && selection_.attachments_known) {
      WR_ASSIGN_OR_RETURN(attached, ReadAttached(connection_, info.oid, selection_.proven_from.xid,
                                                 next_xid, kBeginTimeout));
    }
    auto table = std::make_unique<Table>();
    table->relation = RelationOf(info);
    WR_ASSIGN_OR_RETURN(table->query, MakeRowQuery(selection_,
                                                   {.table = source.tables[i],
                                                    .route = route,
                                                    .relation = table->relation,
                                                    .partitioned = info.partitioned,
                                                    .commit_times = tracked == "on",
                                                    .own_rows_only = own_rows && known,
                                                    .next_xid = next_xid,
                                                    .attached = std::move(attached)},
                                                   selection_.limit));
    selected_.push_back(std::move(table));
  }
  return absl::OkStatus();
}

std::vector<pgoutput::CachedRelation> RowReader::relations() const {
  std::vector<pgoutput::CachedRelation> out;
  for (const auto& table : selected_) {
    out.push_back(table->relation);
  }
  return out;
}

std::optional<RowOrder> RowReader::order() const {
  return selected_.empty() ? std::nullopt : std::optional(selected_.front()->query.order);
}

absl::StatusOr<uint64_t> RowReader::Count() {
  WR_CHECK(!reading_ && current_ == 0, "rows are counted before they are read");
  uint64_t rows = 0;
  for (const auto& table : selected_) {
    const auto counted = connection_.Query(table->query.count, kRowTimeout);
    if (!counted.ok()) {
      return Explained(counted.status(), *table);
    }
    rows += static_cast<uint64_t>(counted->Int(0, "count"));
  }
  return selection_.limit > 0 ? std::min(rows, selection_.limit) : rows;
}

// insufficient_privilege. With row_security = off, which the session sets, Postgres returns this
// error instead of hiding rows by a policy.
absl::Status RowReader::Explained(const absl::Status& error, const Table& table) const {
  if (connection_.last_sqlstate() != "42501") {
    return error;
  }
  return Error(
      ErrorCode::kPostgresError, MessageOf(error),
      fmt::format("Use a role that can read the whole table: GRANT SELECT ON {}.{} TO {}; "
                  "with row-level security the role also needs BYPASSRLS.",
                  QuoteIdentifier(table.relation.schema), QuoteIdentifier(table.relation.name),
                  QuoteIdentifier(connection_.user())));
}

absl::StatusOr<std::optional<OutboxRow>> RowReader::Next() {
  while (current_ < selected_.size() && (selection_.limit == 0 || rows_ < selection_.limit)) {
    const Table& table = *selected_[current_];
    if (!std::exchange(reading_, true)) {
      WR_RETURN_IF_ERROR(connection_.SendQuery(table.query.select, binary_, kBeginTimeout));
    }
    auto row = connection_.NextRow(kRowTimeout);
    if (!row.ok()) {
      return Explained(row.status(), table);
    }
    if (*row) {
      result_ = *std::move(row);
      ++rows_;
      return RowOf(table);
    }
    reading_ = false;
    ++current_;
  }
  return std::nullopt;
}

OutboxRow RowReader::RowOf(const Table& table) {
  const auto kind =
      binary_ ? pgoutput::TupleValue::Kind::kBinary : pgoutput::TupleValue::Kind::kText;
  const auto columns = static_cast<int>(table.relation.columns.size());
  values_.assign(table.relation.columns.size(), {});
  for (int column = 0; column < columns; ++column) {
    if (const auto value = result_->At(0, column)) {
      values_[static_cast<size_t>(column)] = {.kind = kind, .bytes = *value};
    }
  }
  OutboxRow row{.relation = table.relation, .values = values_};
  row.xid = static_cast<uint64_t>(Number(result_->At(0, columns).value_or("")));
  if (const auto micros = result_->At(0, columns + 1)) {
    row.commit_time = WallTime(Micros(Number(*micros)));
  }
  return row;
}

}  // namespace walrelay

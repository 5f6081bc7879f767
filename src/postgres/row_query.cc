#include "postgres/row_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "base/check.h"
#include "base/quote.h"
#include "base/text.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/config/route.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::CachedColumn;

// The row's table has this alias in the query: a column may have any name.
std::string Column(std::string_view name) {
  return "o." + QuoteIdentifier(name);
}

std::string TableName(const RowSource& source) {
  return fmt::format("{}.{}", source.relation.schema, source.relation.name);
}

const CachedColumn* Find(const RowSource& source, std::string_view name) {
  const auto& columns = source.relation.columns;
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [name](const CachedColumn& each) { return each.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

// The first of the names that the table has.
absl::StatusOr<const CachedColumn*> Require(const RowSource& source, const ColumnNames& names) {
  for (const std::string& name : names.all()) {
    if (const CachedColumn* const column = Find(source, name); column != nullptr) {
      return column;
    }
  }
  return Error(ErrorCode::kUsage, fmt::format("table {} has no column \"{}\"", TableName(source),
                                              Printable(names.preferred(), 63)));
}

absl::StatusOr<const CachedColumn*> IdColumn(const RowSource& source) {
  return Require(source, source.table.columns.id.value_or("id"));
}

absl::StatusOr<const CachedColumn*> KeyColumn(const RowSource& source) {
  const std::vector<std::string> usual = {"aggregate_id", "aggregateid"};
  return Require(source, source.table.columns.aggregate_id.value_or(ColumnNames(usual)));
}

bool IsInteger(uint32_t type) {
  return type == pgoutput::kInt2Oid || type == pgoutput::kInt4Oid || type == pgoutput::kInt8Oid;
}

// As the type's output function prints it, so that a comparison of the values is one of the texts.
bool IsInt8(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && fmt::to_string(value) == text;
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) {
      return false;
    }
  }
  return true;
}

// The type in which the column and the values are compared: its own where each value is one as the
// server prints it, so that an index can be used; text otherwise.
std::string_view ComparedAs(uint32_t type, const std::vector<std::string>& values) {
  if (IsInteger(type) && std::all_of(values.begin(), values.end(), IsInt8)) {
    return "int8";
  }
  if (type == pgoutput::kUuidOid && std::all_of(values.begin(), values.end(), IsUuid)) {
    return "uuid";
  }
  return "text";
}

std::string EqualsAny(const CachedColumn& column, const std::vector<std::string>& values) {
  const std::string_view type = ComparedAs(column.type_oid, values);
  std::string list;
  for (const std::string& value : values) {
    list += (list.empty() ? "" : ", ") + QuoteLiteral(value);
  }
  return fmt::format("{}{} OPERATOR(pg_catalog.=) ANY (ARRAY[{}]::pg_catalog.{}[])",
                     Column(column.name), type == "text" ? "::pg_catalog.text" : "", list, type);
}

// The row's xmin, with its epoch. (A frozen row still has its xmin, which may be greater than the
// low half of the present xid.)
std::string Xid(const RowSource& source) {
  return XidWithEpoch("o.xmin", source.next_xid);
}

std::string CommitTime(const RowSource& source) {
  return source.commit_times ? "pg_catalog.pg_xact_commit_timestamp(o.xmin)"
                             : "NULL::pg_catalog.timestamptz";
}

// The expression that is compared with a time range, and the type of the range's ends.
struct TimeOperand {
  std::string expression;
  bool with_zone = true;
};

absl::StatusOr<TimeOperand> OperandOf(const RowSource& source, const CachedColumn& column) {
  switch (column.type_oid) {
    case pgoutput::kTimestamptzOid:
      return TimeOperand{Column(column.name)};
    case pgoutput::kTimestampOid:
    case pgoutput::kDateOid:
      return TimeOperand{Column(column.name), /*with_zone=*/false};
    default:
      return Error(ErrorCode::kUsage, fmt::format("column \"{}\" of table {} is not a timestamp",
                                                  Printable(column.name, 63), TableName(source)));
  }
}

absl::StatusOr<TimeOperand> TimeOf(const RowSelection& selection, const RowSource& source) {
  const ColumnNames named = selection.time_column.empty() ? source.route.timestamp_column
                                                          : ColumnNames(selection.time_column);
  if (!named.empty()) {
    WR_ASSIGN_OR_RETURN(const CachedColumn* const column, Require(source, named));
    return OperandOf(source, *column);
  }
  if (const CachedColumn* const column = Find(source, "created_at"); column != nullptr) {
    return OperandOf(source, *column);
  }
  if (source.commit_times) {
    return TimeOperand{CommitTime(source)};
  }
  return Error(ErrorCode::kUsage,
               fmt::format("table {} has no column \"created_at\", and the server does not record "
                           "commit times",
                           TableName(source)),
               "Name the column with the rows' time: --time-column NAME. Or select by --id, --key "
               "or --after-id. (track_commit_timestamp = on records the times of later commits.)");
}

// Times without a zone are UTC, as in the other parts of walrelay.
std::string TimeLiteral(WallTime time, bool with_zone) {
  return QuoteLiteral(Rfc3339(time)) +
         (with_zone ? "::pg_catalog.timestamptz" : "::pg_catalog.timestamptz AT TIME ZONE 'UTC'");
}

class Conditions {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += text_.empty() ? " WHERE " : " AND ";
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// As pruning has it (IsProven(), WasPartition()): a transaction that was running when the proof
// begins may have written rows of a table that was not published yet, and a table that was attached
// as a partition has rows that were never in the stream.
std::string NotCovered(const RowSelection& selection, const RowSource& source) {
  std::string text;
  if (!selection.proven_from.valid()) {
    return text;
  }
  const CachedColumn* const time = Find(source, selection.proven_time_column);
  if (time != nullptr && time->type_oid == pgoutput::kTimestamptzOid) {
    text += fmt::format(
        " OR ({} OPERATOR(pg_catalog.>=) {}::pg_catalog.int8 AND {} OPERATOR(pg_catalog.<) ({}))",
        Xid(source), selection.proven_from.xid, Column(time->name),
        TimeLiteral(selection.proven_from.taken, /*with_zone=*/true));
    // A transaction that had ended by then cannot have written a later time: a server that was
    // restored has assigned its xid again.
    text += fmt::format(" OR {} OPERATOR(pg_catalog.>) ({})", Column(time->name),
                        TimeLiteral(selection.proven_as_of, /*with_zone=*/true));
  }
  for (const AttachedPartition& each : source.attached) {
    text += fmt::format(
        " OR (o.tableoid OPERATOR(pg_catalog.=) {}::pg_catalog.oid AND {} "
        "OPERATOR(pg_catalog.<=) {}::pg_catalog.int8)",
        each.oid, Xid(source), each.xid);
  }
  return text;
}

absl::StatusOr<std::string> WhereClause(const RowSelection& selection, const RowSource& source) {
  Conditions where;
  if (!selection.ids.empty() || selection.after_id) {
    WR_ASSIGN_OR_RETURN(const CachedColumn* const id, IdColumn(source));
    if (!selection.ids.empty()) {
      where.Add("{}", EqualsAny(*id, selection.ids));
    }
    if (selection.after_id) {
      where.Add("{} OPERATOR(pg_catalog.>) {}", Column(id->name),
                QuoteLiteral(*selection.after_id));
    }
  }
  if (selection.key) {
    WR_ASSIGN_OR_RETURN(const CachedColumn* const key, KeyColumn(source));
    where.Add("{}", EqualsAny(*key, {*selection.key}));
  }
  if (selection.since || selection.until) {
    WR_ASSIGN_OR_RETURN(const TimeOperand time, TimeOf(selection, source));
    if (selection.since) {
      where.Add("{} OPERATOR(pg_catalog.>=) ({})", time.expression,
                TimeLiteral(*selection.since, time.with_zone));
    }
    if (selection.until) {
      where.Add("{} OPERATOR(pg_catalog.<) ({})", time.expression,
                TimeLiteral(*selection.until, time.with_zone));
    }
  }
  if (selection.xid_from > 0) {
    where.Add("({} OPERATOR(pg_catalog.>=) {}::pg_catalog.int8{})", Xid(source), selection.xid_from,
              NotCovered(selection, source));
  }
  if (source.own_rows_only) {
    where.Add("{}", HasNoOrigin("o.xmin"));
  }
  if (selection.xid_before > 0) {
    where.Add("{} OPERATOR(pg_catalog.<) {}::pg_catalog.int8", Xid(source), selection.xid_before);
  }
  return where.text();
}

// The numbers of a transaction's commands increase over its savepoints, unlike its xids. Rows of
// one command follow in the order in which they are stored.
constexpr std::string_view kWithinTransaction =
    "o.cmin::pg_catalog.text::pg_catalog.int8, o.tableoid, o.ctid";

struct OrderClause {
  RowOrder order = RowOrder::kXid;
  std::string text;
};

absl::StatusOr<OrderClause> OrderOf(const RowSelection& selection, const RowSource& source) {
  if (!selection.order_by.empty()) {
    WR_ASSIGN_OR_RETURN(const CachedColumn* const column, Require(source, selection.order_by));
    return OrderClause{RowOrder::kColumn,
                       fmt::format("{}, {}", Column(column->name), kWithinTransaction)};
  }
  if (source.commit_times) {
    return OrderClause{
        RowOrder::kCommitTime,
        fmt::format("{0} NULLS FIRST, CASE WHEN {0} IS NULL THEN {1} END NULLS FIRST, {2}",
                    CommitTime(source), Xid(source), kWithinTransaction)};
  }
  const auto id = IdColumn(source);
  if (id.ok() && IsInteger((*id)->type_oid)) {
    return OrderClause{RowOrder::kId, Column((*id)->name)};
  }
  return OrderClause{RowOrder::kXid, fmt::format("{}, {}", Xid(source), kWithinTransaction)};
}

}  // namespace

std::string XidWithEpoch(std::string_view xmin, uint64_t next_xid) {
  WR_CHECK(next_xid > 0, "the snapshot has an end");
  return fmt::format(
      "({0}::pg_catalog.int8 OPERATOR(pg_catalog.-) (({0}::pg_catalog.int8 OPERATOR(pg_catalog.-) "
      "{1}::pg_catalog.text::pg_catalog.int8) OPERATOR(pg_catalog.&) "
      "4294967295::pg_catalog.int8))",
      next_xid - 1, xmin);
}

// NULL if the commit time of the transaction is unknown.
std::string HasNoOrigin(std::string_view xmin) {
  return fmt::format(
      "COALESCE((pg_catalog.pg_xact_commit_timestamp_origin({})).roident, '0'::pg_catalog.oid) "
      "OPERATOR(pg_catalog.=) '0'::pg_catalog.oid",
      xmin);
}

bool ShowsOrigins(int server_version_num, bool commit_times) {
  return commit_times && server_version_num >= 140'000;
}

absl::StatusOr<RowQuery> MakeRowQuery(const RowSelection& selection, const RowSource& source,
                                      uint64_t limit) {
  WR_ASSIGN_OR_RETURN(const std::string where, WhereClause(selection, source));
  WR_ASSIGN_OR_RETURN(const OrderClause order, OrderOf(selection, source));
  std::string columns;
  for (const CachedColumn& column : source.relation.columns) {
    columns += Column(column.name) + ", ";
  }
  // The stream sends rows of a partitioned table under its name, and those of a table that inherits
  // from it under another.
  const std::string from = fmt::format(" FROM {}{}.{} AS o{}", source.partitioned ? "" : "ONLY ",
                                       QuoteIdentifier(source.relation.schema),
                                       QuoteIdentifier(source.relation.name), where);
  return RowQuery{
      .select = fmt::format("SELECT {}{}::pg_catalog.text, (EXTRACT(epoch FROM {}) "
                            "OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8::pg_catalog.text{} "
                            "ORDER BY {}{}",
                            columns, Xid(source), CommitTime(source), from, order.text,
                            limit > 0 ? fmt::format(" LIMIT {}", limit) : ""),
      .count = "SELECT pg_catalog.count(*)" + from,
      .order = order.order};
}

}  // namespace walrelay

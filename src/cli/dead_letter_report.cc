#include "cli/dead_letter_report.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "base/text.h"
#include "dryrun/record_printer.h"
#include "republish/letter_row.h"

namespace walrelay {
namespace {

constexpr size_t kLongestInLine = 60;

std::string TimeText(const DeadLetterEntry& entry) {
  return entry.time ? Rfc3339(*entry.time) : "-";
}

// A part of a line; "-" for one that is absent.
std::string Part(const std::optional<std::string>& text) {
  return text ? Printable(*text, kLongestInLine) : "-";
}

std::string ValueText(const StoredDeadLetter::Column& column) {
  if (!column.value) {
    return "NULL";
  }
  std::string out = Printable(*column.value, column.value->size());
  if (column.cut_from > 0) {
    out += fmt::format("\n    (truncated: {} of {} bytes)", column.value->size(), column.cut_from);
  }
  return out;
}

std::string ColumnJson(const StoredDeadLetter::Column& column) {
  JsonObject out;
  AddJsonBytes("name", column.name, out);
  out.Add("type_oid", column.type_oid);
  AddJsonBytes("value", column.value, out);
  if (column.binary) {
    out.Add("binary", true);
  }
  if (column.cut_from > 0) {
    out.Add("cut_from", column.cut_from);
  }
  return std::move(out).Finish();
}

}  // namespace

std::string DeadLetterLine(const DeadLetterEntry& entry, const SourceConfig& source) {
  if (!entry.letter) {
    return fmt::format("{}  {}  -  not a dead letter", ToString(entry.id), TimeText(entry));
  }
  const StoredDeadLetter& letter = *entry.letter;
  return fmt::format("{}  {}  {}  {}.{}  id={} key={}{}{}  {}", ToString(entry.id), TimeText(entry),
                     Printable(letter.code, kLongestInLine),
                     Printable(letter.schema, kLongestInLine),
                     Printable(letter.table, kLongestInLine), Part(RowIdOf(letter, source)),
                     Part(entry.key), letter.truncated() ? "  truncated" : "",
                     entry.retried ? "  retried" : "", Printable(letter.reason));
}

std::string DeadLetterText(const DeadLetterEntry& entry) {
  std::string out;
  const auto line = [&out](std::string_view name, const std::string& text) {
    out += fmt::format("{:<12} {}\n", name, text);
  };
  line("id", ToString(entry.id));
  line("time", TimeText(entry));
  line("key", entry.key ? Printable(*entry.key, entry.key->size()) : "NULL");
  if (!entry.letter) {
    line("value", "not a dead letter");
    return out;
  }
  const StoredDeadLetter& letter = *entry.letter;
  const DeadLetterPosition& position = letter.position;
  line("code", Printable(letter.code));
  line("reason", Printable(letter.reason, letter.reason.size()));
  line("table", Printable(letter.schema) + "." + Printable(letter.table));
  line("commit", fmt::format("{} xid {} at {}", position.row.commit_lsn.ToString(), position.xid,
                             Rfc3339(position.commit_time)));
  line("row", fmt::format("{} index {}, row {} of its transaction", position.row.row_lsn.ToString(),
                          position.row.index, position.ordinal));
  line("retried", entry.retried ? "yes" : "no");
  for (const StoredDeadLetter::Column& column : letter.columns) {
    out += fmt::format("  {} (type {}{}): {}\n", Printable(column.name), column.type_oid,
                       column.binary ? ", binary" : "", ValueText(column));
  }
  return out;
}

std::string DeadLetterJson(const DeadLetterEntry& entry, const SourceConfig& source,
                           bool with_row) {
  JsonObject out;
  out.Add("id", ToString(entry.id));
  out.Add("time", entry.time);
  AddJsonBytes("key", entry.key, out);
  out.Add("dead_letter", entry.letter.has_value());
  if (entry.letter) {
    const StoredDeadLetter& letter = *entry.letter;
    out.Add("code", letter.code);
    out.Add("reason", letter.reason);
    out.Add("schema", letter.schema);
    out.Add("table", letter.table);
    out.AddOrNull("row_id", RowIdOf(letter, source));
    out.Add("truncated", letter.truncated());
    out.Add("retried", entry.retried);
    out.Add("commit_lsn", letter.position.row.commit_lsn.ToString());
    out.Add("row_lsn", letter.position.row.row_lsn.ToString());
    out.Add("row_index", letter.position.row.index);
    out.Add("ordinal", letter.position.ordinal);
    out.Add("xid", letter.position.xid);
    if (with_row) {
      out.Raw("columns", JsonArray(letter.columns, ColumnJson));
    }
  }
  return std::move(out).Finish();
}

}  // namespace walrelay

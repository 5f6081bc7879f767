#include "outbox/mapping_toml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "config/masked_dsn.h"
#include "config/table_name.h"
#include "config/toml_writer.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

constexpr size_t kWidth = 100;

// Names come from a database: a comment must not end early.
std::string Shown(std::string_view text) {
  return Printable(text, 4096);
}

// `text` in lines that fit the width, of which the first one begins with `head`, and the others
// with as many spaces.
void WrappedComment(std::string_view head, std::string_view text, TomlWriter& out) {
  const std::string shown = Shown(text);
  std::string line(head);
  size_t words = 0;
  for (size_t at = 0; at < shown.size();) {
    const size_t end = std::min(shown.find(' ', at), shown.size());
    const std::string word = shown.substr(at, end - at);
    if (words > 0 && line.size() + word.size() + 3 > kWidth) {
      out.Comment(line);
      line.assign(head.size(), ' ');
      words = 0;
    }
    line += (words++ > 0 ? " " : "") + word;
    at = end + 1;
  }
  out.Comment(line);
}

std::string Joined(const std::vector<std::string>& names) {
  return Shown(fmt::format("{}", fmt::join(names, ", ")));
}

void WriteHead(const TableDescription& table, const TableMapping& mapping, TomlWriter& out) {
  const OutboxTable names{.schema = table.schema, .name = table.name};
  std::string what = fmt::format(
      "Written by walrelay init for {}{}", QualifiedName(names),
      table.estimated_rows < 0 ? "" : fmt::format(", about {} rows", table.estimated_rows));
  if (!table.primary_key.empty()) {
    what += fmt::format(", primary key ({})", Joined(table.primary_key));
  }
  if (!table.partition_key.empty()) {
    what += fmt::format(", partitioned by {}", table.partition_key);
  }
  WrappedComment("", what + ".", out);
  WrappedComment("",
                 "Rows that exist already are not published: walrelay publishes what is inserted "
                 "after its slot was created.",
                 out);
  WrappedComment("",
                 "Next: walrelay check --offline, walrelay setup --apply, walrelay run; all with "
                 "--config and this file.",
                 out);
  if (!mapping.decisions.empty()) {
    out.Comment("");
    out.Comment("To decide:");
  }
  for (size_t i = 0; i < mapping.decisions.size(); ++i) {
    WrappedComment(fmt::format("{}. ", i + 1), mapping.decisions[i], out);
  }
}

void WriteSource(const TableDescription& table, const SourceConfig& source, TomlWriter& out) {
  out.Table("source");
  const std::string dsn = MaskedDsn(source.dsn);
  out.Set("dsn", TomlString(dsn),
          dsn == source.dsn ? "" : "remove the password: see password_file and password_command");
  out.Set("slot", TomlString(source.slot));
  out.Set("publication", TomlString(source.publication),
          table.publications.empty()
              ? ""
              : fmt::format("the table is in: {}", Joined(table.publications)));
  out.Set("table", TomlString(QualifiedName({.schema = table.schema, .name = table.name})));
}

void WriteColumns(const TableMapping& mapping, TomlWriter& out) {
  out.Table("source.columns");
  const auto set = [&](std::string_view part, const MappedColumn& column) {
    out.Set(part, TomlString(column.column), Shown(column.reason));
  };
  set("id", mapping.id);
  set("aggregate_type", mapping.aggregate_type);
  set("aggregate_id", mapping.aggregate_id);
  set("event_type", mapping.event_type);
  set("payload", mapping.payload);
  // Without these columns there is nothing to say.
  for (const auto& [part, column] :
       {std::pair("trace_id", &mapping.trace_id), std::pair("traceparent", &mapping.traceparent),
        std::pair("tracestate", &mapping.tracestate)}) {
    if (!column->column.empty()) {
      set(part, *column);
    }
  }
  if (!mapping.unpublished.empty()) {
    WrappedComment("",
                   fmt::format("Not published: {}. A block [[source.placement]] publishes a column "
                               "as a header.",
                               Joined(mapping.unpublished)),
                   out);
  }
  for (const std::string& header : mapping.headers) {
    out.Element("source.placement");
    out.Set("column", TomlString(header));
    out.Set("to", TomlString("header"));
  }
}

void WriteRoute(const TableMapping& mapping, TomlWriter& out) {
  out.Table("route");
  out.Set("topic", TomlString(mapping.topic), Shown(mapping.topic_reason));
  if (mapping.time) {
    out.SetInComment("timestamp", TomlString("column:" + mapping.time->column),
                     "instead of the commit time; brokers delete a record by its timestamp");
  }
}

void WriteKafka(const KafkaConfig& kafka, TomlWriter& out) {
  out.Table("kafka");
  const std::string& brokers = kafka.bootstrap_servers;
  out.Set("bootstrap_servers", TomlString(brokers.empty() ? "localhost:9092" : brokers),
          brokers.empty() ? "your brokers" : "");
}

// Off, whatever is known: the operator decides that rows are deleted.
void WriteOldRows(const TableMapping& mapping, TomlWriter& out) {
  out.Comment("");
  if (!mapping.rows_belong_to.empty()) {
    out.Comment(
        fmt::format("{} needs the rows of this table: leave [prune] off.", mapping.rows_belong_to));
    return;
  }
  if (!mapping.time) {
    out.Comment("No column has the time of a row: [prune] cannot be used.");
    return;
  }
  WrappedComment(
      "",
      "[prune] deletes or marks rows that are proven to be published, from a certain age "
      "on:",
      out);
  out.Comment("[prune]");
  out.SetInComment("mode", TomlString(mapping.mark ? "mark" : "delete"));
  out.SetInComment("time_column", TomlString(mapping.time->column), Shown(mapping.time->reason));
  if (mapping.mark) {
    out.SetInComment("mark_column", TomlString(mapping.mark->column), Shown(mapping.mark->reason));
  }
}

}  // namespace

std::string MappingToml(const TableDescription& table, const TableMapping& mapping,
                        const SourceConfig& source, const KafkaConfig& kafka) {
  TomlWriter out;
  WriteHead(table, mapping, out);
  WriteSource(table, source, out);
  WriteColumns(mapping, out);
  WriteRoute(mapping, out);
  WriteKafka(kafka, out);
  WriteOldRows(mapping, out);
  return std::move(out).Finish();
}

}  // namespace walrelay

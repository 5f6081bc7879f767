#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "config/option_rows.h"
#include "config/section.h"

namespace walrelay {
namespace {

constexpr std::string_view kColumn = "column:";

// Three values in one option: which column is meant only matters for the third.
absl::Status SetTimestamp(Config& config, const RawValue& value) {
  ColumnNames texts;
  WR_RETURN_IF_ERROR(ParseInto(value, texts));
  if (texts == "commit" || texts == "now") {
    config.route.timestamp = texts == "now" ? TimestampSource::kNow : TimestampSource::kCommit;
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const std::string& text : texts.all()) {
    if (text.starts_with(kColumn) && text.size() > kColumn.size()) {
      names.push_back(text.substr(kColumn.size()));
    }
  }
  if (names.empty() || names.size() < texts.all().size()) {
    return InvalidValue("expected \"commit\", \"now\", \"column:NAME\", or a list of the last");
  }
  config.route.timestamp = TimestampSource::kColumn;
  config.route.timestamp_column = ColumnNames(std::move(names));
  return absl::OkStatus();
}

std::string ShowTimestamp(const Config& config) {
  switch (config.route.timestamp) {
    case TimestampSource::kCommit:
      return TomlString("commit");
    case TimestampSource::kNow:
      return TomlString("now");
    case TimestampSource::kColumn:
      break;
  }
  std::vector<std::string> texts;
  for (const std::string& name : config.route.timestamp_column.all()) {
    texts.push_back(fmt::format("{}{}", kColumn, name));
  }
  return ToToml(ColumnNames(std::move(texts)));
}

using enum OptionType;
constexpr auto kRoute = &Config::route;

constexpr Option kRouteRows[] = {
    Row<kRoute, &RouteConfig::topic>(
        "route", "topic", kString,
        "The topic, built from the match of `regex`: `${name}` and `$1` stand for its "
        "groups, `\\` escapes."),
    Row<kRoute, &RouteConfig::regex>(
        "route", "regex", kString,
        "Must match the whole aggregate type; a value that does not match is used as the "
        "topic. Java's syntax as far as RE2 supports it: no look-around, no back references."),
    Row<kRoute, &RouteConfig::allow>(
        "route", "allow", kList,
        "Topics that rows may be published to, as globs (`outbox.event.*`). Empty: all. Set "
        "it if you do not trust the writers of rows with every topic that walrelay may write."),
    Row<kRoute, &RouteConfig::max_topics>(
        "route", "max_topics", kInteger,
        "How many topics rows may name during the life of the process; a row with a further "
        "topic cannot be routed."),
    {"route",
     "timestamp",
     kNames,
     {},
     "The record's timestamp: `\"commit\"` (commit time of the transaction), `\"now\"` (the time "
     "of publishing: Kafka keeps the record for the whole `retention.ms` of its topic, however "
     "long the event waited), or `\"column:NAME\"` (timestamptz, timestamp as UTC, or bigint "
     "milliseconds; NULL falls back to the commit time). A list of columns, "
     "`[\"column:NEW\", \"column:OLD\"]`, is read like that of `[source.columns]`.",
     SetTimestamp,
     ShowTimestamp},
    Row<kRoute, &RouteConfig::commit_time_header>(
        "route", "commit_time_header", kString,
        "The name of a header with the commit time of the transaction, as text in RFC 3339 "
        "(`2026-11-25T23:00:00.000000Z`), behind all others. Empty: none, as Debezium. Useful with "
        "`route.timestamp = \"now\"`, and with topics that set a record's time themselves "
        "(`message.timestamp.type=LogAppendTime`). A record whose commit time is not known, of "
        "`republish` or `recover` without `track_commit_timestamp`, does not have it."),
    Row<kRoute, &RouteConfig::tombstone_on_empty>(
        "route", "tombstone_on_empty", kBoolean,
        "An empty or blank payload becomes a tombstone, as NULL does; an empty bytea does "
        "not."),
    ChoiceRow<kRoute, &RouteConfig::compatibility>(
        "route", "compatibility",
        "Which rules apply where walrelay and Debezium's EventRouter differ. `debezium`: a "
        "row with a NULL key is published; the aggregate type must be text, the partition "
        "int4, the timestamp a `timestamp` (infinity is published as its number, for NULL "
        "the producer sets the timestamp)."),
};

// If a record has two headers of one name, some readers take the first, and others the last.
void CheckCommitTimeHeader(const Config& config, ConfigNeeds /*needs*/, ConfigErrors& errors) {
  constexpr std::string_view kOfRecords[] = {"id",          "event_type", "trace_id",
                                             "traceparent", "tracestate", "wr-pos"};
  const std::string& name = config.route.commit_time_header;
  const auto is_placed = [&name](const OutboxTable& table) {
    return std::any_of(
        table.placements.begin(), table.placements.end(), [&name](const Placement& placement) {
          return placement.where == Placement::Where::kHeader && placement.name == name;
        });
  };
  const auto& tables = config.source.tables;
  const bool taken =
      name.starts_with("walrelay.") || name.starts_with("__debezium.context.") ||
      std::find(std::begin(kOfRecords), std::end(kOfRecords), name) != std::end(kOfRecords) ||
      std::any_of(tables.begin(), tables.end(), is_placed);
  if (!name.empty() && taken) {
    errors.Reject("route.commit_time_header",
                  fmt::format("route.commit_time_header: records may have another header \"{}\"",
                              Printable(name, 63)));
  }
}

}  // namespace

const Section kRouteSection = {kRouteRows, CheckCommitTimeHeader};

}  // namespace walrelay

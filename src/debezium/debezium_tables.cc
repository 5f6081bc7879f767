#include "debezium/debezium_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "debezium/debezium_file.h"
#include "route/java_regex.h"

namespace walrelay {
namespace {

constexpr std::string_view kTableSetting = "source.table";
constexpr std::string_view kTopicPredicate =
    "org.apache.kafka.connect.transforms.predicates.TopicNameMatches";
constexpr std::string_view kTombstonePredicate =
    "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone";

// The second name is the one before Debezium 1.3. Exclusions have no effect next to inclusions of
// the same kind (Selectors).
constexpr std::string_view kTableLists[] = {"table.include.list", "table.whitelist"};
constexpr std::string_view kSchemaLists[] = {"schema.include.list", "schema.whitelist"};
constexpr std::string_view kSchemaExclusions[] = {"schema.exclude.list", "schema.blacklist"};
constexpr std::string_view kSelectingOptions[] = {
    "table.include.list",  "table.whitelist",  "table.exclude.list",  "table.blacklist",
    "schema.include.list", "schema.whitelist", "schema.exclude.list", "schema.blacklist"};

constexpr std::string_view kSayTables =
    "name the outbox tables: table.include.list, or source.table";

enum class Case : uint8_t { kSensitive, kInsensitive };

// Whether a Java expression matches the whole text; nullopt if RE2 does not have its syntax.
std::optional<bool> Matches(std::string_view java, std::string_view text, Case letters) {
  const auto pattern = ToRe2Syntax(java);
  if (!pattern.ok()) {
    return std::nullopt;
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_case_sensitive(letters == Case::kSensitive);
  const re2::RE2 regex(*pattern, options);
  return regex.ok() ? std::optional(re2::RE2::FullMatch({text.data(), text.size()}, regex))
                    : std::nullopt;
}

// Debezium's lists: an entry matches without regard to case.
std::optional<bool> AnyMatches(std::string_view list, std::string_view text) {
  bool any = false;
  for (const std::string& entry : JavaSplit(list, ',')) {
    const auto matches = Matches(JavaTrim(entry), text, Case::kInsensitive);
    if (!matches) {
      return std::nullopt;
    }
    any = any || *matches;
  }
  return any;
}

// Whether `sql` contains `name` as a whole word.
bool Mentions(std::string_view sql, std::string_view name) {
  const auto in_word = [&](size_t at) {
    return at < sql.size() &&
           (std::isalnum(static_cast<unsigned char>(sql[at])) != 0 || sql[at] == '_');
  };
  for (size_t at = sql.find(name); at != std::string_view::npos; at = sql.find(name, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + name.size())) {
      return true;
    }
  }
  return false;
}

std::string SchemaOf(const std::string& table) {
  return table.substr(0, table.find('.'));
}

// TopicNamingStrategy.sanitizedTopicName()
std::string Sanitized(std::string topic) {
  const auto invalid = [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '.' && c != '_' && c != '-';
  };
  std::replace_if(topic.begin(), topic.end(), invalid, '_');
  return topic;
}

// The first of `names` that the connector has; "" if it has none.
template <size_t N>
std::string FirstOf(const std::string_view (&names)[N], const DebeziumOptions& connector) {
  for (const std::string_view name : names) {
    if (connector.contains(name)) {
      return std::string(name);
    }
  }
  return "";
}

PropertyResult RefusedTable(std::string note) {
  return Refused(std::move(note), std::string(kTableSetting));
}

// "predicates" or one of the properties of a predicate.
bool IsOfPredicate(std::string_view name) {
  return name == "predicates" || name.starts_with("predicates.");
}

}  // namespace

DebeziumTables::DebeziumTables(const DebeziumOptions& connector, const std::string& router,
                               bool messages)
    : connector_(connector), router_(router), messages_(messages) {
  ReadList();
  ReportPredicate();
  ReportPredicateProperties();
}

std::optional<PropertyResult> DebeziumTables::ResultOf(std::string_view name) const {
  const auto found = results_.find(name);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

// A table is read if both the list of tables and that of schemas include it.
void DebeziumTables::ReadList() {
  const std::string list = FirstOf(kTableLists, connector_);
  for (const std::string_view name : kSelectingOptions) {
    if (connector_.contains(name)) {
      results_.emplace(name, list.empty() ? RefusedTable(std::string(kSayTables))
                                          : Equivalent(fmt::format("{} names the tables", list)));
    }
  }
  if (list.empty()) {
    return;
  }
  for (const std::string& entry : JavaSplit(Option(list), ',')) {
    tables_.push_back(LiteralOf(JavaTrim(entry)));
    // LiteralOf() returns "" for a pattern; such entries would need the catalog. Debezium matches
    // "schema.table", so a name without a dot matches nothing there.
    if (tables_.back().find('.') == std::string::npos) {
      tables_.clear();
      results_.insert_or_assign(list,
                                RefusedTable(fmt::format("\"{}\" is not the name of a single table",
                                                         Printable(JavaTrim(entry), 120))));
      return;
    }
  }
  ApplySchemas(list);
  LeaveOutOwnTables();
  ReportTables(list);
}

void DebeziumTables::ApplySchemas(const std::string& table_list) {
  const std::string inclusion = FirstOf(kSchemaLists, connector_);
  const std::string list = inclusion.empty() ? FirstOf(kSchemaExclusions, connector_) : inclusion;
  if (list.empty()) {
    return;
  }
  for (const std::string& table : std::vector<std::string>(tables_)) {
    const auto matches = AnyMatches(Option(list), SchemaOf(table));
    if (!matches) {
      results_.insert_or_assign(
          list, RefusedTable("RE2 does not support this expression; name the tables without it"));
    } else if (*matches == inclusion.empty()) {
      LeaveOut(table, fmt::format("{} excludes it", list));
    } else {
      results_.insert_or_assign(
          list, Equivalent(fmt::format("agrees with {}, which names the tables", table_list)));
    }
  }
}

void DebeziumTables::LeaveOut(const std::string& table, std::string_view reason) {
  std::erase(tables_, table);
  left_out_.push_back(fmt::format("{} is not published: {}", Printable(table, 120), reason));
}

// The only table of the list that heartbeat.action.query mentions; "" if the query may write
// events: it then sets the column by which the router routes.
std::string DebeziumTables::HeartbeatTable() const {
  const std::string query = JavaLower(Option("heartbeat.action.query"));
  std::vector<std::string> mentioned = tables_;
  std::erase_if(mentioned, [&](const std::string& table) {
    return !Mentions(query, JavaLower(table.substr(table.find('.') + 1)));
  });
  const std::string route = ValueOr(connector_, router_ + "route.by.field", "aggregatetype");
  return mentioned.size() == 1 && !Mentions(query, JavaLower(route)) ? mentioned.front() : "";
}

// Tables that the connector has for itself, in whose rows no consumer is interested.
void DebeziumTables::LeaveOutOwnTables() {
  const std::string heartbeats = HeartbeatTable();
  const std::string signals = Option("signal.data.collection");
  for (const std::string& table : std::vector<std::string>(tables_)) {
    if (tables_.size() > 1 && table == heartbeats) {
      LeaveOut(table, "heartbeat.action.query writes to it");
    } else if (tables_.size() > 1 && signals.ends_with(table)) {
      LeaveOut(table, "it holds the connector's signals");
    }
  }
}

void DebeziumTables::ReportTables(const std::string& table_list) {
  const std::string note = fmt::format("{}", fmt::join(left_out_, "; "));
  if (tables_.empty()) {
    results_.insert_or_assign(table_list, RefusedTable(fmt::format("no table remains: {}", note)));
  } else if (tables_.size() == 1) {
    results_.insert_or_assign(table_list, Translated(std::string(kTableSetting), note));
  } else {
    results_.insert_or_assign(
        table_list,
        Translated("[[source.tables]]", fmt::format("the router's options apply to all of them{}{}",
                                                    note.empty() ? "" : "; ", note)));
  }
}

// nullopt if the topic is unknown: it is in no file, or another strategy names it.
std::optional<std::string> DebeziumTables::TopicOf(const std::string& table) const {
  const std::string prefix = ValueOr(connector_, "topic.prefix", Option("database.server.name"));
  const std::string strategy =
      ValueOr(connector_, "topic.naming.strategy", "SchemaTopicNamingStrategy");
  const bool usual = strategy.ends_with("SchemaTopicNamingStrategy") ||
                     strategy.ends_with("DefaultTopicNamingStrategy");
  if (prefix.empty() || AsksProvider(prefix) || !usual) {
    return std::nullopt;
  }
  const std::string delimiter = ValueOr(connector_, "topic.delimiter", ".");
  std::string topic = prefix + delimiter + table;
  if (const size_t dot = table.find('.'); dot != std::string::npos) {
    topic.replace(prefix.size() + delimiter.size() + dot, 1, delimiter);
  }
  return Sanitized(std::move(topic));
}

// The topics of the records that reach the router; empty if one of them is unknown.
std::vector<std::string> DebeziumTables::Topics() const {
  std::vector<std::string> names = tables_;
  if (messages_) {
    names.emplace_back("message");
  }
  std::vector<std::string> topics;
  for (const std::string& name : names) {
    const auto topic = TopicOf(name);
    if (!topic) {
      return {};
    }
    topics.push_back(*topic);
  }
  return topics;
}

// nullopt for a predicate that walrelay cannot evaluate.
std::optional<bool> DebeziumTables::IsTrue(const std::string& predicate,
                                           std::string_view topic) const {
  const std::string type = JavaTrim(Option(fmt::format("predicates.{}.type", predicate)));
  if (type == kTopicPredicate) {
    return Matches(Option(fmt::format("predicates.{}.pattern", predicate)), topic,
                   Case::kSensitive);
  }
  // A row is not a tombstone.
  return type == kTombstonePredicate ? std::optional(false) : std::nullopt;
}

std::optional<bool> DebeziumTables::Applies(const std::string& transform,
                                            std::string_view topic) const {
  const std::string predicate = JavaTrim(Option(transform + "predicate"));
  if (predicate.empty()) {
    return true;
  }
  const auto is_true = IsTrue(predicate, topic);
  const bool negate = JavaLower(Option(transform + "negate")) == "true";
  return is_true ? std::optional(*is_true != negate) : std::nullopt;
}

Reach DebeziumTables::ReachOf(const std::string& transform) const {
  if (JavaTrim(Option(transform + "predicate")).empty()) {
    return Reach::kAll;
  }
  size_t reached = 0;
  const std::vector<std::string> topics = Topics();
  for (const std::string& topic : topics) {
    const auto applies = Applies(transform, topic);
    if (!applies) {
      return Reach::kUnknown;
    }
    reached += *applies ? 1U : 0U;
  }
  return topics.empty()             ? Reach::kUnknown
         : reached == topics.size() ? Reach::kAll
         : reached == 0             ? Reach::kNone
                                    : Reach::kSome;
}

// The router's predicate is usually there to keep other records out of it, which walrelay does not
// have. It is harmless if it is true for each record of the tables.
void DebeziumTables::ReportPredicate() {
  const auto report = [&](PropertyResult result) {
    results_.insert_or_assign(router_ + "predicate", std::move(result));
  };
  switch (ReachOf(router_)) {
    case Reach::kAll:
      report(Equivalent("true for every record of the outbox tables"));
      break;
    case Reach::kNone:
      report(RefusedTable("false for the tables above: the router does not route their records"));
      break;
    case Reach::kSome:
      report(
          RefusedTable("false for some tables: Debezium publishes their changes without routing "
                       "them, walrelay publishes only outbox tables"));
      break;
    case Reach::kUnknown:
      report(RefusedTable("walrelay cannot determine for which tables it is true"));
      break;
  }
  results_.insert_or_assign(router_ + "negate", Equivalent("belongs to the predicate"));
}

// Their effect is reported with the transform that uses them.
void DebeziumTables::ReportPredicateProperties() {
  const std::string used = JavaTrim(Option(router_ + "predicate"));
  for (const auto& [name, value] : connector_) {
    if (IsOfPredicate(name)) {
      const bool of_router =
          !used.empty() && (name == "predicates" || name.starts_with("predicates." + used + "."));
      results_.insert_or_assign(name, of_router ? Equivalent("see the router's predicate")
                                                : Meaningless("the router does not use it"));
    }
  }
}

}  // namespace walrelay

#include "config/debezium_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/loopback.h"
#include "base/text.h"
#include "config/debezium_rules.h"

namespace walrelay {
namespace {

constexpr std::string_view kNoSnapshots =
    "walrelay takes no snapshots; it publishes what is committed from the slot's position on";
constexpr std::string_view kNoQueue =
    "there is no queue between reading and producing; [pipeline] bounds what is in flight";
constexpr std::string_view kNoOffsets = "the slot is the only position there is";
constexpr std::string_view kOwnRetries = "walrelay tries again by itself, for ever, in order";
constexpr std::string_view kNoTopics =
    "walrelay makes no topics: create them, or let the brokers do so";
constexpr std::string_view kOnlyInserts = "only inserts are events";
constexpr std::string_view kStrimzi = "about how Strimzi runs the connector";

constexpr PropertyRule kMeaninglessHere[] = {
    {"name", "walrelay has no connectors; kafka.client_id names it to the brokers"},
    {"tasks.max*", "a Postgres connector has one task; walrelay is one process"},
    {"snapshot.*", kNoSnapshots},
    {"incremental.snapshot.*", kNoSnapshots},
    {"streaming.delay.ms", kNoSnapshots},
    {"read.only", kNoSnapshots},
    {"signal.*", "walrelay takes no signals; their table's rows are not published"},
    {"notification.*", "walrelay writes no notifications; see its log and metrics"},
    {"schema.history.*", "a Postgres connector has none"},
    {"include.schema.changes", "a Postgres connector makes none"},
    {"include.schema.comments", "they do not reach a routed event"},
    {"max.queue.size*", kNoQueue},
    {"max.batch.size", kNoQueue},
    {"poll.interval.ms", kNoQueue},
    {"record.processing.*", kNoQueue},
    {"tombstones.on.delete", "deletes are no events; route.tombstone_on_empty is another matter"},
    {"replica.identity.autoset.values", "walrelay changes no tables"},
    {"unavailable.value.placeholder", kOnlyInserts},
    {"message.key.columns", "the router makes the key"},
    {"message.prefix.*", "no transform takes logical messages apart; they are not read"},
    {"heartbeat.*", "a slot is confirmed without heartbeats, also while the outbox is idle"},
    {"topic.heartbeat.*", "there are no heartbeats"},
    {"topic.transaction", "there are no records about transactions"},
    {"topic.naming.strategy", "the router names the topics"},
    {"topic.cache.size", "about the inside of the connector"},
    {"topic.creation.*", kNoTopics},
    {"slot.drop.on.stop", "walrelay drops no slot when it stops"},
    {"slot.max.retries", kOwnRetries},
    {"slot.retry.delay.ms", kOwnRetries},
    {"slot.failover", "the slot is there; walrelay setup --failover makes one that standbys keep"},
    {"publication.autocreate.mode",
     "walrelay makes no publication unless asked: walrelay setup --apply"},
    {"publish.via.partition.root", "the publication is there; walrelay check looks at it"},
    {"create.slot.command.timeout", "the slot is there"},
    {"status.update.interval.ms", "progress is confirmed within pipeline.confirm_interval"},
    {"lsn.flush.*", "what is acknowledged is confirmed, at once"},
    {"flush.lsn.source", "what is acknowledged is confirmed, at once"},
    {"offset.*", kNoOffsets},
    {"offsets.*", kNoOffsets},
    {"internal.*", "about the inside of the connector"},
    {"xmin.fetch.interval.ms", "the status page shows what the slot holds back"},
    {"retriable.restart.connector.wait.ms", kOwnRetries},
    {"errors.max.retries", kOwnRetries},
    {"errors.retry.*", kOwnRetries},
    {"errors.log.*", "what fails is logged, and stops the line"},
    {"event.converting.failure.handling.mode", "a value that cannot be shown stops the line"},
    {"custom.metric.tags", "metrics are labelled by Prometheus"},
    {"schema.refresh.mode", "tables are known from the stream itself"},
    {"database.tcpKeepAlive", "on, as in libpq"},
    {"database.initial.statements", "run on a connection that walrelay does not have"},
    {"database.query.timeout.ms", "source.connect_timeout bounds every query"},
    {"connection.validation.timeout.ms", "source.connect_timeout bounds it"},
    {"database.server.id", "a Postgres connector has none"},
    {"hstore.handling.mode", "a column of that type is not shown; the line stops"},
    {"interval.handling.mode", "a column of that type is not shown; the line stops"},
    {"money.fraction.digits", "a column of that type is not shown; the line stops"},
    {"min.row.count.to.stream.results", kNoSnapshots},
    {"transaction.boundary*", "delivery is at least once; records are sent as they come"},
    {"config.action.reload", "walrelay reads its configuration when it starts"},
    {"config.providers*", "walrelay has *_file settings for secrets"},
    {"sink.kafka.*", "about how Debezium Server waits for Kafka"},
    {"quarkus.*", "about Debezium Server's own process; see [http] and [log]"},
    {"overruled.*", "the class beside it says which converter"},
    {"spec.*", kStrimzi},
};

constexpr PropertyRule kRefusedHere[] = {
    {"column.mask.*", "columns are published as they stand"},
    {"column.truncate.*", "columns are published as they stand"},
    {"column.propagate.source.type", "schemas hold no source types"},
    {"datatype.propagate.source.type", "schemas hold no source types"},
    {"converters*", "custom converters are Java code"},
    {"post.processors*", "post processors are Java code"},
    {"slot.stream.params", "the stream is asked for with walrelay's own options"},
    {"openlineage.*", "walrelay reports no lineage"},
};

constexpr std::string_view kSayTables =
    "say which tables are outboxes: table.include.list, or source.table";
constexpr std::string_view kNoPredicates =
    "walrelay reads outbox tables and nothing else; name them with source.table";

// What else decides which tables are read.
constexpr PropertyRule kNamesTables[] = {
    {"predicates*", kNoPredicates},      {"table.exclude.list", kSayTables},
    {"schema.include.list", kSayTables}, {"schema.exclude.list", kSayTables},
    {"table.whitelist", kSayTables},     {"table.blacklist", kSayTables},
    {"schema.whitelist", kSayTables},    {"schema.blacklist", kSayTables},
};

// A property whose value must be this one; `reason` otherwise.
struct Demand {
  std::string_view name;
  std::string_view values;  // "a, b"
  std::string_view reason;
  std::string_view setting;  // that decides instead
};

constexpr Demand kDemands[] = {
    {"plugin.name", "pgoutput", "the slot speaks another plugin; name a new slot", "source.slot"},
    {"provide.transaction.metadata", "false", "no records about transactions are made", ""},
    {"event.processing.failure.handling.mode", "fail", "events would be lost silently", ""},
    {"exactly.once.support", "requested", "delivery is at least once", ""},
    {"sink.type", "kafka", "walrelay writes to Kafka", ""},
};

Fate Demanded(const Demand& demand, const std::string& value) {
  for (const std::string& allowed : JavaSplit(demand.values, ',')) {
    if (JavaTrim(allowed) == JavaLower(value)) {
      return Equivalent("the same here");
    }
  }
  return Refused(fmt::format("\"{}\": {}", Printable(value, 80), demand.reason),
                 std::string(demand.setting));
}

Fate TranslateTables(const std::string& value, DebeziumTranslation& out) {
  std::vector<std::string> tables;
  for (const std::string& entry : JavaSplit(value, ',')) {
    tables.push_back(LiteralOf(JavaTrim(entry)));
    if (tables.back().find('.') == std::string::npos) {
      return Refused(
          fmt::format("\"{}\" is not the name of one table", Printable(JavaTrim(entry), 120)),
          "source.table");
    }
  }
  if (tables.size() > 1) {
    out.tables = std::move(tables);
    return Translated("[[source.tables]]", "one router's options hold for all of them");
  }
  return out.Set("source.table", tables.front());
}

Fate TranslatePassword(const DebeziumProperty& property, DebeziumTranslation& out) {
  return property.external
             ? out.Want("source.password_file")
             : out.Set("source.password", property.value, "better in a file: source.password_file");
}

Fate TranslateConnectorClass(const std::string& value) {
  return JavaTrim(value) == "io.debezium.connector.postgresql.PostgresConnector" ||
                 JavaTrim(value) == "PostgresConnector" || JavaTrim(value) == "PostgresSource"
             ? Meaningless("walrelay is the connector")
             : Refused(fmt::format("\"{}\": walrelay reads Postgres as Debezium's connector does",
                                   Printable(value, 120)));
}

Fate TranslateSnapshotMode(const std::string& value) {
  const std::string mode = JavaLower(value);
  if (mode == "initial_only") {
    return Refused("\"initial_only\": the connector does not stream");
  }
  return Meaningless(
      mode == "no_data" || mode == "never"
          ? std::string(kNoSnapshots)
          : fmt::format("{}: rows older than the slot are not published", kNoSnapshots));
}

// What the connection string is made of, in libpq's order of telling.
struct DsnPart {
  std::string_view name;  // of libpq
  std::string_view property;
};

constexpr DsnPart kDsnParts[] = {
    {"host", "database.hostname"},   {"port", "database.port"},
    {"dbname", "database.dbname"},   {"user", "database.user"},
    {"sslmode", "database.sslmode"}, {"sslcert", "database.sslcert"},
    {"sslkey", "database.sslkey"},   {"sslrootcert", "database.sslrootcert"},
};

// A value in a libpq connection string.
std::string Quoted(std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" '\\\t\n") == std::string_view::npos;
  if (plain) {
    return std::string(value);
  }
  std::string out = "'";
  for (const char c : value) {
    out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return out + "'";
}

}  // namespace

std::optional<Fate> TranslateSourceOption(const DebeziumProperty& property,
                                          DebeziumTranslation& out) {
  const std::string& name = property.name;
  const std::string& value = property.value;
  for (const DsnPart& part : kDsnParts) {
    if (part.property == name) {
      return Translated("source.dsn");
    }
  }
  for (const Demand& demand : kDemands) {
    if (demand.name == name) {
      return Demanded(demand, value);
    }
  }
  if (name == "connector.class") {
    return TranslateConnectorClass(value);
  }
  if (name == "database.password") {
    return TranslatePassword(property, out);
  }
  if (name == "database.sslpassword" || name == "database.sslfactory") {
    return Refused("libpq takes the key without a password, in source.dsn", "source.dsn");
  }
  if (name == "slot.name") {
    return out.Set("source.slot", value);
  }
  if (name == "publication.name") {
    return out.Set("source.publication", value);
  }
  if (name == "database.server.name") {
    return out.Set("format.schema_prefix", value, "topic.prefix since Debezium 2.0");
  }
  if (name == "table.include.list") {
    return TranslateTables(value, out);
  }
  if (name == "snapshot.mode") {
    return TranslateSnapshotMode(value);
  }
  if (name == "column.exclude.list" || name == "column.include.list") {
    return Equivalent("columns that the router does not name are not published");
  }
  if (const PropertyRule* rule = FindRule(kNamesTables, name)) {
    return Refused(std::string(rule->reason), "source.table");
  }
  if (const PropertyRule* rule = FindRule(kRefusedHere, name)) {
    return Refused(std::string(rule->reason));
  }
  if (const PropertyRule* rule = FindRule(kMeaninglessHere, name)) {
    return Meaningless(rule->reason);
  }
  return std::nullopt;
}

void FinishSource(const DebeziumOptions& connector, DebeziumTranslation& out) {
  out.settings.try_emplace("source.slot", "debezium");
  out.settings.try_emplace("source.publication", "dbz_publication");
  std::string dsn;
  for (const DsnPart& part : kDsnParts) {
    const std::string value = ValueOr(connector, part.property, "");
    if (!value.empty()) {
      dsn += fmt::format("{}{}={}", dsn.empty() ? "" : " ", part.name, Quoted(value));
    }
  }
  if (!dsn.empty()) {
    out.settings.try_emplace("source.dsn", dsn);
  }
  // As the connector did; walrelay alone would not do it without being told.
  const bool remote = !IsLoopback(ValueOr(connector, "database.hostname", ""));
  if (remote && JavaLower(ValueOr(connector, "database.sslmode", "prefer")) != "verify-full") {
    out.settings.try_emplace("source.allow_insecure", "true");
  }
}

}  // namespace walrelay

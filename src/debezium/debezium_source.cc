#include "debezium/debezium_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/loopback.h"
#include "base/text.h"
#include "debezium/debezium_rules.h"

namespace walrelay {
namespace {

constexpr std::string_view kNoSnapshots =
    "walrelay takes no snapshots; it publishes commits from the slot's position on";
constexpr std::string_view kNoQueue =
    "there is no queue between reading and producing; [pipeline] bounds what is in flight";
constexpr std::string_view kNoOffsets = "walrelay stores no offsets; the slot holds the position";
constexpr std::string_view kOwnRetries = "walrelay retries automatically, without limit, in order";
constexpr std::string_view kOnlyInserts = "only inserts are events";
constexpr std::string_view kStrimzi = "only concerns how Strimzi runs the connector";

// Properties that need no decision. One that no table of this file lists is refused as unknown: it
// may be a misspelling, or newer than this version of walrelay.
constexpr PropertyRule kMeaninglessSourceRules[] = {
    {"connector.class", "walrelay replaces the connector"},
    {"name", "walrelay has no connectors; kafka.client_id names it to the brokers"},
    {"tasks.max*", "a Postgres connector has one task; walrelay is one process"},
    {"snapshot.*", kNoSnapshots},
    {"incremental.snapshot.*", kNoSnapshots},
    {"legacy.snapshot.*", kNoSnapshots},
    {"query.fetch.size", kNoSnapshots},
    {"streaming.delay.ms", kNoSnapshots},
    {"read.only", kNoSnapshots},
    {"signal.*", "walrelay does not process signals; rows of the signal table are not published"},
    {"notification.*", "walrelay writes no notifications; see its log and metrics"},
    {"schema.history.*", "a Postgres connector has none"},
    {"database.history.*", "a Postgres connector has none"},
    {"openlineage.*", "walrelay reports no lineage"},
    {"include.schema.changes", "a Postgres connector creates none"},
    {"include.schema.comments", "routed events do not contain them"},
    {"max.queue.size*", kNoQueue},
    {"max.batch.size", kNoQueue},
    {"poll.interval.ms", kNoQueue},
    {"poll.dispatch.interval.ms", kNoQueue},
    {"queue.provider.*", kNoQueue},
    {"record.processing.*", kNoQueue},
    {"tombstones.on.delete", "deletes are not events; route.tombstone_on_empty is unrelated"},
    {"replica.identity.autoset.values", "walrelay changes no tables"},
    {"unavailable.value.placeholder", kOnlyInserts},
    {"skip.messages.without.change", kOnlyInserts},
    {"message.key.columns", "the router sets the key"},
    {"message.prefix.*", "no transform decodes logical messages; walrelay does not read them"},
    {"heartbeat.*", "walrelay confirms the slot without heartbeats, also while the outbox is idle"},
    {"topic.heartbeat.*", "there are no heartbeats"},
    {"topic.transaction", "there are no records about transactions"},
    {"provide.transaction.metadata",
     "routed events do not contain it; walrelay writes no topic of transactions"},
    {"topic.naming.strategy", "the router names the topics"},
    {"topic.cache.size", "only concerns the internals of the connector"},
    {"slot.drop.on.stop", "walrelay does not drop the slot when it stops"},
    {"slot.max.retries", kOwnRetries},
    {"slot.retry.delay.ms", kOwnRetries},
    {"slot.failover", "the slot exists; walrelay setup --failover creates one that standbys keep"},
    {"publication.autocreate.mode", "only walrelay setup --apply creates a publication"},
    {"publish.via.partition.root", "the publication exists; walrelay check validates it"},
    {"create.slot.command.timeout", "the slot exists"},
    {"status.update.interval.ms", "progress is confirmed within pipeline.confirm_interval"},
    {"lsn.flush.*", "walrelay confirms acknowledged events immediately"},
    {"flush.lsn.source", "walrelay confirms acknowledged events immediately"},
    {"offset.*", kNoOffsets},
    {"offsets.*", kNoOffsets},
    {"internal.*", "only concerns the internals of the connector"},
    {"executor.shutdown.timeout.ms", "only concerns the internals of the connector"},
    {"statistics.metrics.enabled", "only concerns the metrics of the connector"},
    {"guardrail.*", "walrelay reads only outbox tables"},
    {"table.ignore.builtin", "walrelay reads only outbox tables"},
    {"transaction.metadata.factory", "routed events do not contain it"},
    {"bootstrap.servers", "Connect ignores it here; a connector has producer.override.*"},
    {"acks", "Connect ignores it here; a connector has producer.override.*"},
    {"_aiven.*", "only concerns how Aiven runs the connector"},
    {"xmin.fetch.interval.ms", "the status page shows transactions that hold the slot back"},
    {"retriable.restart.connector.wait.ms", kOwnRetries},
    {"errors.max.retries", kOwnRetries},
    {"errors.retry.*", kOwnRetries},
    {"errors.log.*", "errors are logged, and block publishing"},
    {"event.converting.failure.handling.mode",
     "a value that cannot be converted blocks publishing"},
    {"custom.metric.tags", "metrics are labelled by Prometheus"},
    {"custom.sanitize.pattern", "only concerns the log of the connector; walrelay logs no secrets"},
    {"memory.management.*", "only concerns the internals of the connector"},
    {"schema.refresh.mode", "the stream itself describes the tables"},
    {"database.tcpKeepAlive", "on, as in libpq"},
    {"database.initial.statements", "they run on a connection that walrelay does not open"},
    {"database.query.timeout.ms", "source.connect_timeout bounds every query"},
    {"connection.validation.timeout.ms", "source.connect_timeout bounds it"},
    {"database.server.id", "a Postgres connector has none"},
    {"money.fraction.digits",
     "walrelay does not convert columns of this type; publishing is blocked"},
    {"min.row.count.to.stream.results", kNoSnapshots},
    {"transaction.boundary*", "pipeline.mode and pipeline.atomic_rows decide about transactions"},
    {"config.action.reload", "walrelay reads its configuration when it starts"},
    {"config.providers*", "walrelay has *_file settings for secrets"},
    {"sink.kafka.*", "only concerns how Debezium Server waits for Kafka"},
    {"quarkus.*", "only concerns Debezium Server's own process; see [http] and [log]"},
    {"overruled.*", "overridden by the converter's class"},
    {"spec.*", kStrimzi},
};

// Properties that change the content of events in a way that walrelay does not reproduce.
constexpr PropertyRule kRefusedSourceRules[] = {
    {"column.propagate.source.type", "walrelay's schemas contain no source types"},
    {"datatype.propagate.source.type", "walrelay's schemas contain no source types"},
    {"converters*", "custom converters are Java code"},
    {"post.processors*", "post processors are Java code"},
    {"slot.stream.params", "walrelay uses its own stream options"},
};

// A property that must have one of these values; otherwise it is refused with `reason`.
struct Demand {
  std::string_view name;
  std::string_view values;  // "a, b"
  std::string_view reason;
  std::string_view setting;  // the setting with which an operator can override
};

// Properties of which one value means what walrelay does anyway.
constexpr Demand kDemands[] = {
    {"plugin.name", "pgoutput", "the slot uses another plugin; name a new slot", "source.slot"},
    {"event.processing.failure.handling.mode", "fail", "events would be lost silently", ""},
    {"exactly.once.support", "requested",
     "delivery is at least once unless pipeline.mode = \"exactly_once\", which needs rights and a "
     "progress record (docs/guides/exactly-once.md)",
     "pipeline.mode"},
    {"exactly.once.source.support", "disabled, preparing",
     "if consumers rely on it, set pipeline.mode = \"exactly_once\", which needs rights and a "
     "progress record (docs/guides/exactly-once.md)",
     "pipeline.mode"},
    {"sink.type", "kafka", "walrelay writes to Kafka", ""},
    {"sourceinfo.struct.maker", "io.debezium.connector.postgresql.postgressourceinfostructmaker",
     "it is Java code", ""},
};

PropertyResult Demanded(const Demand& demand, const std::string& value) {
  for (const std::string& allowed : JavaSplit(demand.values, ',')) {
    if (JavaTrim(allowed) == JavaLower(value)) {
      return Equivalent("same behaviour");
    }
  }
  return Refused(fmt::format("\"{}\": {}", Printable(value, 80), demand.reason),
                 std::string(demand.setting));
}

PropertyResult TranslatePassword(const DebeziumProperty& property, DebeziumTranslation& out) {
  return property.external
             ? out.Want("source.password_file")
             : out.Set("source.password", property.value, "prefer a file: source.password_file");
}

// walrelay never reads the table, so most modes have nothing to do. A connector that only takes a
// snapshot cannot be replaced.
PropertyResult TranslateSnapshotMode(const std::string& value) {
  const std::string mode = JavaLower(value);
  if (mode == "initial_only") {
    return Refused("\"initial_only\": the connector does not stream");
  }
  return Meaningless(
      mode == "no_data" || mode == "never"
          ? std::string(kNoSnapshots)
          : fmt::format("{}: rows older than the slot are not published", kNoSnapshots));
}

// The parts of the connection string, in the order in which they are written.
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
// As PQconninfoParse() reads it: quotes and backslashes are escaped by a backslash.
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

// From single properties to tables of prefixes; what no row matches is unknown, and is refused by
// the caller.
std::optional<PropertyResult> TranslateSourceOption(const DebeziumProperty& property,
                                                    DebeziumTranslation& out) {
  const std::string& name = property.name;
  const std::string& value = property.value;
  for (const DsnPart& part : kDsnParts) {
    // The parts are joined by FinishSource(), when all of them are known.
    if (part.property == name) {
      return Translated("source.dsn");
    }
  }
  for (const Demand& demand : kDemands) {
    if (demand.name == name) {
      return Demanded(demand, value);
    }
  }
  if (name == "database.password") {
    return TranslatePassword(property, out);
  }
  // The JDBC driver's own factory that accepts every certificate.
  if (name == "database.sslfactory" && value.ends_with(".NonValidatingFactory")) {
    return Equivalent("libpq verifies certificates only with sslmode verify-ca or verify-full");
  }
  if (name == "database.sslpassword" || name == "database.sslfactory") {
    return Refused("use a key without a password, in source.dsn", "source.dsn");
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
  if (name == "database.include.list" || name == "database.exclude.list") {
    return JavaTrim(value).empty()
               ? Equivalent("a Postgres connector reads one database")
               : Refused("a Postgres connector reads one database, that of database.dbname");
  }
  if (name == "snapshot.mode") {
    return TranslateSnapshotMode(value);
  }
  if (name == "column.exclude.list" || name == "column.include.list") {
    return Equivalent("columns that the router does not name are not published");
  }
  if (const PropertyRule* rule = FindRule(kRefusedSourceRules, name)) {
    return Refused(std::string(rule->reason));
  }
  if (const PropertyRule* rule = FindRule(kMeaninglessSourceRules, name)) {
    return Meaningless(rule->reason);
  }
  return std::nullopt;
}

// Debezium's defaults, so that the relay continues with the slot and the publication that the
// connector has used.
void FinishSource(const DebeziumOptions& connector, DebeziumTranslation& out) {
  // try_emplace() everywhere: what the connector sets explicitly stays.
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
  // The connector connected without verified TLS; walrelay requires an explicit setting for that.
  // The JDBC driver's default is "prefer", which accepts any certificate and falls back to no
  // encryption.
  const bool remote = !IsLoopback(ValueOr(connector, "database.hostname", ""));
  if (remote && JavaLower(ValueOr(connector, "database.sslmode", "prefer")) != "verify-full") {
    out.settings.try_emplace("source.allow_insecure", "true");
  }
}

}  // namespace walrelay

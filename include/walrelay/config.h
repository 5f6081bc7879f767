// Config: everything an operator can set, as plain data.
//
// Filled by the loader (src/config), which validates; a Config that it returned is consistent.
// Default member values are the documented defaults. docs/configuration.md describes each key and
// is generated from the table that the loader reads with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

// Which column plays which part. nullopt: found by its usual names, ours first, then Debezium's.
// "": the part is not played (optional parts only).
struct ColumnNames {
  std::optional<std::string> id;              // id
  std::optional<std::string> aggregate_type;  // aggregate_type, aggregatetype
  std::optional<std::string> aggregate_id;    // aggregate_id, aggregateid
  std::optional<std::string> event_type;      // event_type, type; optional
  std::optional<std::string> payload;         // payload
  std::optional<std::string> trace_id;        // trace_id; optional
  std::optional<std::string> traceparent;     // traceparent; optional
  std::optional<std::string> tracestate;      // tracestate; optional
  std::optional<std::string> span_context;    // tracingspancontext; optional
  std::optional<std::string> version;         // none; optional, and only for an envelope
};

// Debezium's table.fields.additional.placement.
struct Placement {
  enum class Where : uint8_t { kHeader, kEnvelope, kPartition };

  std::string column;
  Where where = Where::kHeader;
  std::string name;  // of the header, or of the envelope's member
};

struct OutboxTable {
  std::string schema = "public";
  std::string name = "outbox";
  ColumnNames columns;
  std::vector<Placement> placements;
};

enum class OnUpdate : uint8_t { kIgnore, kFail };

// What becomes of a placement whose column the table does not have.
enum class MissingColumns : uint8_t { kFail, kIgnore };

// What becomes of a slot that keeps as much log as the operator lets it.
enum class OnRetainedLimit : uint8_t { kAlert, kDropSlot };

// What a possible gap does: hold publishing until an operator accepts the gap, or exit with code 4.
enum class OnGap : uint8_t { kHold, kExit };

struct SourceConfig {
  std::string dsn;  // a libpq connection string or URI
  Secret password;
  std::string password_file;  // read again at each connection
  std::string slot = "walrelay";
  std::string publication = "walrelay";
  // At least one. One without a name stands for none: messages alone are events then.
  std::vector<OutboxTable> tables = {OutboxTable()};
  // Of the logical messages that are events, mapped as the first table is; globs. Empty: none.
  std::vector<std::string> message_prefixes;
  OnUpdate on_update = OnUpdate::kIgnore;
  MissingColumns missing_columns = MissingColumns::kFail;
  bool create_slot = false;
  int64_t max_retained_wal = 0;  // bytes; 0: the server's own limit alone counts
  OnRetainedLimit on_retained_limit = OnRetainedLimit::kAlert;
  OnGap on_gap = OnGap::kHold;
  int64_t decoding_memory = 0;  // bytes: logical_decoding_work_mem; 0: the server's setting
  bool wait_visible = false;    // publish a transaction only when other sessions can see it
  bool binary = false;
  bool allow_insecure = false;
  Micros connect_timeout = std::chrono::seconds(10);
  Micros wal_sender_timeout = std::chrono::seconds(30);  // 0: what the server has
};

enum class TimestampSource : uint8_t { kCommit, kColumn, kNow };

// By whose rules rows are judged where Debezium's EventRouter differs from walrelay: what a NULL
// key means, and which types a part may have.
enum class Compatibility : uint8_t { kWalrelay, kDebezium };

struct RouteConfig {
  std::string regex = "(?<routedByValue>.*)";
  std::string topic = "outbox.event.${routedByValue}";
  std::vector<std::string> allow;  // globs over topic names; empty: all that Kafka allows
  int64_t max_topics = 1000;
  TimestampSource timestamp = TimestampSource::kCommit;
  std::string timestamp_column;
  Compatibility compatibility = Compatibility::kWalrelay;
  bool tombstone_on_empty = false;
};

// kRaw: the column's bytes as they stand. The others are those of Kafka Connect's converters.
enum class Format : uint8_t { kRaw, kString, kJson, kJsonSchema, kBytes };
enum class Delegate : uint8_t { kNone, kString, kJson, kJsonSchema };
enum class HeaderFormat : uint8_t { kRaw, kSimple };
enum class NullMembers : uint8_t { kIgnore, kOptionalBytes };
enum class EmptyArrays : uint8_t { kIgnore, kOptionalString };

struct PartFormat {
  Format format = Format::kRaw;
  Delegate delegate = Delegate::kNone;  // of kBytes, for what is no bytea
};

// How a row becomes bytes.
struct FormatConfig {
  PartFormat key;
  PartFormat value;
  HeaderFormat headers = HeaderFormat::kRaw;
  bool expand_json = false;
  NullMembers json_nulls = NullMembers::kIgnore;
  EmptyArrays json_empty_arrays = EmptyArrays::kIgnore;
  NullMembers message_nulls = NullMembers::kOptionalBytes;
  std::string schema_prefix;  // topic.prefix: with it begin the names of envelopes' schemas
  bool context_headers = false;
};

enum class OnError : uint8_t { kStop, kDeadLetter, kSkip };

// What happens to a row that cannot be published, by cause.
struct ErrorPolicy {
  OnError null_route = OnError::kStop;
  OnError null_key = OnError::kStop;
  OnError topic = OnError::kStop;
  OnError too_large = OnError::kStop;
  OnError value = OnError::kStop;
  OnError refused = OnError::kStop;  // by the brokers, for a reason other than its size
  std::string dead_letter_topic;
};

struct KafkaConfig {
  std::string bootstrap_servers;
  std::string client_id = "walrelay";
  std::string security_protocol = "PLAINTEXT";
  std::string sasl_mechanism;
  std::string sasl_username;
  Secret sasl_password;
  std::string sasl_password_file;
  std::string ssl_ca_file;
  std::string ssl_certificate_file;
  std::string ssl_key_file;
  Secret ssl_key_password;
  std::string ssl_key_password_file;
  std::string compression = "none";
  int64_t max_record_bytes = 1'000'000;
  int64_t max_batch_bytes = 1'000'000;
  bool allow_insecure = false;
  std::vector<std::pair<std::string, std::string>> librdkafka;  // anything else, by its own names
};

struct PipelineConfig {
  int64_t max_in_flight_records = 10'000;
  int64_t max_in_flight_bytes = int64_t{16} << 20;
  Micros confirm_interval = std::chrono::milliseconds(100);
  Micros drain_timeout = std::chrono::seconds(25);
};

struct HttpConfig {
  std::string listen = "127.0.0.1:9464";  // "": no HTTP
};

struct MetricsConfig {
  Micros slot_poll_interval = std::chrono::seconds(5);
  int64_t max_topics = 200;
};

struct LogConfig {
  std::string level = "info";
  std::string format = "auto";
};

struct Config {
  SourceConfig source;
  RouteConfig route;
  FormatConfig format;
  ErrorPolicy on_error;
  KafkaConfig kafka;
  PipelineConfig pipeline;
  HttpConfig http;
  MetricsConfig metrics;
  LogConfig log;
};

}  // namespace walrelay

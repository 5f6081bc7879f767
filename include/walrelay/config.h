// Config: everything an operator can set, as plain data.
//
// The loader (src/config) fills and validates it; a Config that the loader returned is consistent.
// Default member values are the documented defaults. docs/configuration.md describes each key and
// is generated from the loader's table of options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/log_level.h"
#include "walrelay/partition_period.h"
#include "walrelay/secret.h"

namespace walrelay {

// The column for each part of a record. nullopt: found by its default names, walrelay's first, then
// Debezium's. "": no column (optional parts only).
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

  bool operator==(const ColumnNames&) const = default;
};

// Debezium's table.fields.additional.placement.
// At most one per table may be the partition, whose column is an integer; for NULL the key decides.
struct Placement {
  enum class Where : uint8_t { kHeader, kEnvelope, kPartition };

  std::string column;
  Where where = Where::kHeader;
  std::string name;  // of the header, or of the envelope's member

  bool operator==(const Placement&) const = default;
};

// A message digest, as java.security.MessageDigest calls it.
enum class HashAlgorithm : uint8_t {
  kMd5,
  kSha1,
  kSha224,
  kSha256,
  kSha384,
  kSha512,
  kSha512To224,
  kSha512To256,
  kSha3To224,
  kSha3To256,
  kSha3To384,
  kSha3To512
};

// Replaces the values of a column wherever they are used: topic, key, headers, value, dead letter
// and messages. A table has at most one per column. Rows of tables only, not logical messages.
// kTruncate: the first `length` characters, or bytes of a bytea. kMask: `length` asterisks, also
// for NULL. kHash: the digest of salt and value in hexadecimal. kHashSerialized: the same of the
// value as java.io.ObjectOutputStream writes it. Debezium's column.truncate.to.N.chars,
// column.mask.with.N.chars, column.mask.hash.v2.* and column.mask.hash.*.
struct ColumnTransform {
  enum class Kind : uint8_t { kTruncate, kMask, kHash, kHashSerialized };

  std::string column;
  Kind kind = Kind::kTruncate;
  int64_t length = 0;  // UTF-16 code units, as in Java; kMask: at most 1,000,000
  HashAlgorithm algorithm = HashAlgorithm::kSha256;
  Secret salt;

  bool operator==(const ColumnTransform&) const = default;
};

// A table whose inserted rows are events.
// Names as in the catalog, without quotes and case-sensitive.
struct OutboxTable {
  std::string schema = "public";
  std::string name = "outbox";
  ColumnNames columns;
  std::vector<Placement> placements;
  std::vector<ColumnTransform> transforms;

  bool operator==(const OutboxTable&) const = default;
};

// Handling of an UPDATE of an outbox row: its event may be published already.
// kIgnore: counted, and skipped. kFail: publishing is blocked (WR-3008).
enum class OnUpdate : uint8_t { kIgnore, kFail };

// Handling of transactions that another node wrote first, and that replication applied here.
// kUnset: as kAny; doctor warns where replication writes to an outbox table.
enum class OriginFilter : uint8_t { kUnset, kAny, kNone };

// Handling of a placement whose column does not exist in the table.
// kFail: the table's next row blocks publishing (WR-3001). kIgnore: the placement is omitted.
enum class MissingColumns : uint8_t { kFail, kIgnore };

// Handling of a slot that retains as much WAL as the operator allows.
// kDropSlot requires max_retained_wal > 0 and excludes create_slot; events that were not published
// by then are a gap (WR-2109).
enum class OnRetainedLimit : uint8_t { kAlert, kDropSlot };

// Handling of a possible gap: hold publishing until an operator accepts the gap, or exit with
// code 4.
enum class OnGap : uint8_t { kHold, kExit };

// The database, the slot, and what is read from it.
// A password from a file takes precedence over `password`; these and a command's over the one in
// the DSN. Strings contain no zero bytes.
struct SourceConfig {
  std::string dsn;  // a libpq connection string or URI
  // 1 to 128 letters, digits, ".", "_", "-", ":" and "/"; "": IdentityOf() derives it from the DSN.
  std::string name;
  Secret password;
  std::string password_file;  // read again at each connection
  // Program and arguments; prints the password of one connection. Excludes the two above. Empty:
  // none.
  std::vector<std::string> password_command;
  // Valid: 1 to 63 lower-case letters, digits and underscores, which replication commands accept
  // without quotes.
  std::string slot = "walrelay";
  // 1 to 63 bytes without backslashes and control characters; always quoted in commands.
  std::string publication = "walrelay";
  // At least one. A single table without a name means no table: all events are logical messages.
  std::vector<OutboxTable> tables = {OutboxTable()};
  // Prefixes of logical messages that are events, mapped like the first table; globs. Empty: none.
  std::vector<std::string> message_prefixes;
  OriginFilter origin = OriginFilter::kUnset;
  OnUpdate on_update = OnUpdate::kIgnore;
  MissingColumns missing_columns = MissingColumns::kFail;
  bool create_slot = false;
  int64_t max_retained_wal = 0;  // bytes; 0: only the server's limit applies
  OnRetainedLimit on_retained_limit = OnRetainedLimit::kAlert;
  OnGap on_gap = OnGap::kHold;
  int64_t decoding_memory = 0;  // bytes: logical_decoding_work_mem; 0: the server's setting
  bool wait_visible = false;    // publish a transaction only after other sessions can see it
  // pgoutput's option "binary" (Postgres 14 and later): values arrive as TupleValue::Kind::kBinary.
  bool binary = false;
  bool allow_insecure = false;
  // The limit of one attempt to connect to one host; at least one second. kOpenTimeout
  // (postgres/session.h) limits all attempts together.
  Micros connect_timeout = std::chrono::seconds(10);
  Micros wal_sender_timeout = std::chrono::seconds(30);  // 0: the server's setting

  bool operator==(const SourceConfig&) const = default;
};

// Where a record's timestamp comes from.
// kColumn falls back to the commit time for NULL, except under Debezium's rules. kNow: the record
// has no timestamp, and the producer sets it.
enum class TimestampSource : uint8_t { kCommit, kColumn, kNow };

// The rules that apply where Debezium's EventRouter and walrelay differ: the meaning of a NULL key,
// and the types that a part may have.
enum class Compatibility : uint8_t { kWalrelay, kDebezium };

// From the aggregate type to the topic.
// `regex` is in Java's syntax (route/java_regex.h). `max_topics` counts distinct topics during the
// life of the process.
struct RouteConfig {
  std::string regex = "(?<routedByValue>.*)";
  std::string topic = "outbox.event.${routedByValue}";
  std::vector<std::string> allow;  // globs over topic names; empty: all that Kafka allows
  int64_t max_topics = 1000;
  TimestampSource timestamp = TimestampSource::kCommit;
  std::string timestamp_column;
  std::string commit_time_header;  // its name; "": records have none
  Compatibility compatibility = Compatibility::kWalrelay;
  bool tombstone_on_empty = false;

  bool operator==(const RouteConfig&) const = default;
};

// kRaw: the column's bytes unchanged. The others match Kafka Connect's converters.
// How a part of a record is converted to bytes.
enum class Format : uint8_t { kRaw, kString, kJson, kJsonSchema, kBytes };
// How kBytes converts a column that is not bytea, like ByteArrayConverter's delegate in Debezium.
enum class Delegate : uint8_t { kNone, kString, kJson, kJsonSchema };
// kSimple: as Connect's SimpleHeaderConverter.
enum class HeaderFormat : uint8_t { kRaw, kSimple };
// How JSON members that are null, and arrays without elements, are handled: their type is unknown.
enum class NullMembers : uint8_t { kIgnore, kOptionalBytes };
enum class EmptyArrays : uint8_t { kIgnore, kOptionalString };

// The format of a key or a value.
struct PartFormat {
  Format format = Format::kRaw;
  Delegate delegate = Delegate::kNone;  // of kBytes, for columns that are not bytea

  bool operator==(const PartFormat&) const = default;
};

// How values of some types are represented in Connect's formats.
// Debezium's decimal.handling.mode, time.precision.mode, binary.handling.mode,
// interval.handling.mode, hstore.handling.mode and include.unknown.datatypes, with their defaults.
enum class DecimalMode : uint8_t { kPrecise, kDouble, kString };
enum class TimeMode : uint8_t {
  kAdaptive,
  kAdaptiveTimeMicroseconds,
  kConnect,
  kIsoString,
  kMicroseconds,
  kNanoseconds,
  kStructured
};
enum class BinaryMode : uint8_t { kBytes, kBase64, kBase64UrlSafe, kHex };
enum class IntervalMode : uint8_t { kNumeric, kString };
enum class HstoreMode : uint8_t { kJson, kMap };
enum class UnknownTypes : uint8_t { kReject, kBytes };
// The version whose bytes are published where two versions differ.
enum class DebeziumVersion : uint8_t { k3_7, k3_6 };

struct TypeModes {
  DecimalMode decimal = DecimalMode::kPrecise;
  TimeMode time = TimeMode::kAdaptive;
  BinaryMode binary = BinaryMode::kBytes;
  IntervalMode interval = IntervalMode::kNumeric;
  HstoreMode hstore = HstoreMode::kJson;
  UnknownTypes unknown = UnknownTypes::kReject;
  DebeziumVersion version = DebeziumVersion::k3_7;

  bool operator==(const TypeModes&) const = default;
};

// How a row is converted to bytes.
// Debezium's and Connect's names for these settings: key.converter, value.converter,
// header.converter, table.expand.json.payload, and the connector's topic.prefix.
struct FormatConfig {
  PartFormat key;
  PartFormat value;
  TypeModes types;
  HeaderFormat headers = HeaderFormat::kRaw;
  bool expand_json = false;
  NullMembers json_nulls = NullMembers::kIgnore;
  EmptyArrays json_empty_arrays = EmptyArrays::kIgnore;
  NullMembers message_nulls = NullMembers::kOptionalBytes;
  std::string schema_prefix;  // topic.prefix: the prefix of envelopes' schema names
  bool context_headers = false;

  bool operator==(const FormatConfig&) const = default;
};

// How walrelay handles a row that cannot be published, for one cause.
// kStop blocks publishing before the row; the others let the relay continue behind it, after a log
// line that is never suppressed (LogAudit()).
enum class OnError : uint8_t { kStop, kDeadLetter, kSkip };

// How walrelay handles a row that cannot be published, by cause.
// `dead_letter_topic` is set if any cause is kDeadLetter. Causes: WR-3003 null_route, WR-3004
// null_key, WR-3005 topic, WR-3006 too_large, WR-3007 value, WR-4003 refused.
struct ErrorPolicy {
  OnError null_route = OnError::kStop;
  OnError null_key = OnError::kStop;
  OnError topic = OnError::kStop;
  OnError too_large = OnError::kStop;
  OnError value = OnError::kStop;
  OnError refused = OnError::kStop;  // by the brokers, for a reason other than its size
  std::string dead_letter_topic;

  bool operator==(const ErrorPolicy&) const = default;
};

// Who creates a missing topic before its first record.
// kNever: brokers that create topics on demand. kCheck: an operator; publishing is blocked until
// the topic exists (WR-4004). kCreate: walrelay. With kCheck and kCreate no broker creates a topic.
enum class CreateTopics : uint8_t { kNever, kCheck, kCreate };

// The settings of topics that walrelay creates.
// -1: the brokers' default. The names in `config` are unique; the brokers validate them.
struct TopicRule {
  std::string match;  // a glob over topic names, not empty
  int64_t partitions = -1;
  int64_t replication_factor = -1;
  std::vector<std::pair<std::string, std::string>> config;

  bool operator==(const TopicRule&) const = default;
};

// The first rule that matches applies; without one, the brokers' defaults.
struct TopicsConfig {
  CreateTopics create = CreateTopics::kNever;
  std::vector<TopicRule> rules;

  bool operator==(const TopicsConfig&) const = default;
};

// Where OAUTHBEARER tokens come from: exactly one of token_file, token_command and token_endpoint.
struct OauthConfig {
  std::string token_file;                  // read again every two seconds
  std::vector<std::string> token_command;  // program and arguments; prints a token
  std::string token_endpoint;              // URL, for OIDC client credentials
  std::string token_endpoint_ca_file;      // PEM; "": the system's authorities
  std::string client_id;
  Secret client_secret;
  std::string client_secret_file;  // read again for each token; takes precedence
  std::string scope;
  // SASL extensions, "name=value". Names are letters; "auth" is reserved.
  std::vector<std::string> extensions;
  // The assumed lifetime of a token that does not state when it expires.
  Micros token_lifetime = std::chrono::minutes(5);
  // The limit of one run of the command, or of one request; at least one second.
  Micros timeout = std::chrono::seconds(30);

  bool operator==(const OauthConfig&) const = default;
};

// The login of AWS_MSK_IAM. Empty: found as documented in docs/guides/kafka-logins.md.
struct AwsConfig {
  std::string region;
  std::string role_arn;  // assumed with the credentials that are found; "": none
  std::string role_session_name = "walrelay";

  bool operator==(const AwsConfig&) const = default;
};

// The brokers, the login, and the limits of a batch.
// Texts are passed to librdkafka, which validates them (WR-4006). Files take precedence over the
// secrets themselves. `security_protocol` is one of librdkafka's four.
struct KafkaConfig {
  std::string bootstrap_servers;
  std::string client_id = "walrelay";
  std::string security_protocol = "PLAINTEXT";
  std::string sasl_mechanism;
  std::string sasl_username;
  Secret sasl_password;
  std::string sasl_password_file;
  OauthConfig oauth;  // of OAUTHBEARER
  AwsConfig aws;      // of AWS_MSK_IAM
  std::string ssl_ca_file;
  std::string ssl_certificate_file;
  std::string ssl_key_file;
  Secret ssl_key_password;
  std::string ssl_key_password_file;
  std::string compression = "none";
  // Key, value and overhead of one record, as librdkafka's message.max.bytes: 1,000 to
  // 1,000,000,000.
  int64_t max_record_bytes = 1'000'000;
  // librdkafka's batch.size, 1,000 to 2^31 - 1; lowered at run time when a broker rejects a batch
  // (WR-4009).
  int64_t max_batch_bytes = 1'000'000;
  bool allow_insecure = false;
  std::vector<std::pair<std::string, std::string>>
      librdkafka;  // other properties, by librdkafka's names
  TopicsConfig topics;
  std::string progress_topic;  // "": "walrelay.progress.<pipeline.id>"
  // librdkafka's transaction.timeout.ms: brokers abort a transaction that is open for longer. At
  // least ten seconds; brokers limit it (transaction.max.timeout.ms).
  Micros transaction_timeout = std::chrono::seconds(30);

  bool operator==(const KafkaConfig&) const = default;
};

// Whether progress is recorded in Kafka. kAuto: as the mode needs it; with PipelineMode::kSlot, if
// the user may use the progress topic, otherwise with one warning. kRequired: nothing is published
// without a record (WR-4016, WR-4018). kOff: with PipelineMode::kSlot only.
enum class ProgressRecording : uint8_t { kOff, kAuto, kRequired };

// Decides what a pipeline promises, and where it continues after a start or with a new producer.
// kSlot: at least once; at the confirmed position, and what was published behind it is published
// again. kTopics: at least once; behind the last event in each partition. kExactlyOnce: events are
// published in Kafka transactions, together with the record of progress; a consumer that reads
// committed records only sees each event once.
enum class PipelineMode : uint8_t { kSlot, kTopics, kExactlyOnce };

// Limits of what is in flight, and when progress is confirmed.
// At a limit of the window, Postgres is not read and status updates continue. One record may always
// be in flight, however large. confirm_interval is at most ten seconds, linger at most 100 ms.
struct PipelineConfig {
  // Unique in the Kafka cluster; the same for the instances of a pipeline. Valid: 1 to 128 letters,
  // digits, ".", "_" and "-". "": "<database>.<slot>".
  std::string id;
  PipelineMode mode = PipelineMode::kSlot;
  ProgressRecording progress = ProgressRecording::kAuto;
  // With kExactlyOnce: a database transaction of up to this many rows is committed to Kafka as a
  // whole, if max_in_flight_records and max_in_flight_bytes allow it.
  int64_t atomic_rows = 10'000;
  int64_t max_in_flight_records = 10'000;
  int64_t max_in_flight_bytes = int64_t{16} << 20;
  // While rows arrive fast, records are produced at this interval. Not with kExactlyOnce.
  Micros linger = std::chrono::milliseconds(5);
  Micros confirm_interval = std::chrono::milliseconds(100);
  Micros drain_timeout = std::chrono::seconds(25);

  bool exactly_once() const { return mode == PipelineMode::kExactlyOnce; }
  bool resumes_from_topics() const { return mode == PipelineMode::kTopics; }
  bool records_progress() const { return progress != ProgressRecording::kOff; }
  // Nothing is published without a record. Otherwise the record may be denied to the user.
  bool requires_record() const {
    return progress == ProgressRecording::kRequired || mode != PipelineMode::kSlot;
  }

  bool operator==(const PipelineConfig&) const = default;
};

// How walrelay prunes rows of the outbox tables that are proven to be published. kMark: it sets a
// column of the row instead of deleting the row. kDrop: it drops partitions, and creates new ones
// ahead.
enum class PruneMode : uint8_t { kOff, kDelete, kMark, kDrop };

// Pruning of the outbox tables. Requires a record of progress.
struct PruneConfig {
  PruneMode mode = PruneMode::kOff;
  Micros keep = std::chrono::hours(168);  // the age of a row, by its time_column
  Micros interval = std::chrono::minutes(1);
  int64_t batch_rows = 1'000;
  int64_t max_rows_per_second = 10'000;
  std::string time_column = "created_at";
  std::string mark_column;                               // of kMark: a timestamp, or a boolean
  PartitionPeriod partitions = PartitionPeriod::kDaily;  // of kDrop: of those that are created
  int64_t partitions_ahead = 7;                          // of kDrop, after the present one
  std::string dsn;            // "": source.dsn, with the password of [source]
  std::string password_file;  // of `dsn`; read again at each connection

  bool operator==(const PruneConfig&) const = default;
};

// The listener for probes, metrics and the status page.
// No TLS and no authentication: meant for loopback or the inside of a pod.
struct HttpConfig {
  std::string listen = "127.0.0.1:9464";  // "": no HTTP

  bool operator==(const HttpConfig&) const = default;
};

// How the slot is polled, and how many series there are.
// slot_poll_interval is at least 100 ms. Topics beyond max_topics share the series "__other__".
struct MetricsConfig {
  Micros slot_poll_interval = std::chrono::seconds(5);
  Micros table_count_interval = std::chrono::seconds(30);  // 0: the tables are not counted
  int64_t max_topics = 200;

  bool operator==(const MetricsConfig&) const = default;
};

// The level and the format of the log.
struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kAuto;

  bool operator==(const LogConfig&) const = default;
};

// All sections of the configuration file.
struct Config {
  SourceConfig source;
  RouteConfig route;
  FormatConfig format;
  ErrorPolicy on_error;
  KafkaConfig kafka;
  PipelineConfig pipeline;
  PruneConfig prune;
  HttpConfig http;
  MetricsConfig metrics;
  LogConfig log;

  bool operator==(const Config&) const = default;
};

}  // namespace walrelay

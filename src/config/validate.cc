#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "config/choices.h"
#include "config/kafka_login.h"
#include "config/loader.h"
#include "config/option.h"
#include "config/table_name.h"
#include "route/topic_name.h"
#include "walrelay/error.h"
#include "walrelay/progress.h"

namespace walrelay {
namespace {

// Slot names are inserted into replication commands, whose grammar has no parameters. Postgres
// allows exactly these names.
// 63 bytes: NAMEDATALEN - 1.
bool IsSlotName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A publication's name is inserted, quoted, into the same commands.
bool IsPublicationName(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; });
}

// It becomes a label of every series: the characters need no escapes in a query.
bool IsSourceName(std::string_view name) {
  return name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._-:/").find(c) != std::string_view::npos;
         });
}

// The port behind the last colon outside of the brackets of an IPv6 address; nullopt without one.
std::optional<std::string_view> PortOf(std::string_view address) {
  const size_t bracket = address.rfind(']');
  const size_t colon = address.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  return has_port ? std::optional(address.substr(colon + 1)) : std::nullopt;
}

bool IsPort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// The error in an entry of kafka.bootstrap_servers, as a text that follows the value; "": none.
// librdkafka accepts a security protocol in front of an address, in any case, and ignores an entry
// whose protocol it does not know.
std::string BrokerError(std::string_view server) {
  server.remove_prefix(std::min(server.find_first_not_of(' '), server.size()));
  server = server.substr(0, server.find_last_not_of(' ') + 1);
  if (const size_t scheme = server.find("://"); scheme != std::string_view::npos) {
    constexpr std::string_view kProtocols[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};
    std::string name(server.substr(0, scheme));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (std::find(std::begin(kProtocols), std::end(kProtocols), name) == std::end(kProtocols)) {
      return fmt::format("; \"{}\" is no protocol of Kafka, write \"{}\"",
                         Printable(server.substr(0, scheme + 3), 20),
                         Printable(server.substr(scheme + 3), 80));
    }
    server.remove_prefix(scheme + 3);
  }
  const auto port = PortOf(server);
  if (port && !IsPort(*port)) {
    return fmt::format("; \"{}\" is not a port", Printable(*port, 40));
  }
  return server.empty() || server.starts_with(':') ? "; a host is missing" : "";
}

// Collects the errors in a configuration. A message begins with the option's name, and ends with
// the value if that value alone is wrong.
class Validator {
 public:
  Validator(const Config& config, ConfigNeeds needs) : config_(config), needs_(needs) {}

  // In the order of the sections.
  std::vector<OptionError> Run() {
    CheckSource();
    CheckPassword();
    CheckRetention();
    CheckTables();
    CheckMessages();
    CheckCommitTimeHeader();
    CheckFormat();
    CheckErrorPolicy();
    CheckBrokers();
    CheckKafka();
    CheckTopics();
    CheckProgress();
    CheckPruning();
    if (needs_.kafka) {
      CheckLogin();
    }
    CheckTokens();
    if (config_.pipeline.confirm_interval > std::chrono::seconds(10)) {
      Expect("pipeline.confirm_interval", "at most ten seconds, because a crash repeats this much");
    }
    if (config_.pipeline.linger > std::chrono::milliseconds(100)) {
      Expect("pipeline.linger", "at most \"100ms\"");
    }
    // Each poll is a query on the primary.
    if (config_.metrics.slot_poll_interval < std::chrono::milliseconds(100)) {
      Expect("metrics.slot_poll_interval", "at least \"100ms\"");
    }
    return std::move(errors_);
  }

 private:
  void Reject(std::string option, std::string_view what, std::string_view hint = {}) {
    errors_.push_back({std::move(option), Error(ErrorCode::kConfigValue, what, hint)});
  }

  // An option that is missing because another one requires it.
  void RejectMissing(std::string option, std::string required_by, std::string_view what) {
    errors_.push_back(
        {std::move(option), Error(ErrorCode::kConfigValue, what), std::move(required_by)});
  }

  // "source.slot: expected X, got "Y"".
  void Expect(const std::string& option, std::string_view what) {
    Reject(option, fmt::format("{}: expected {}, got {}", option, what,
                               Printable(FindOption(option)->show(config_), 82)));
  }

  void CheckSource() {
    const SourceConfig& source = config_.source;
    if (needs_.postgres && source.dsn.empty()) {
      Reject("source.dsn", "source.dsn is missing",
             "Set the Postgres server: dsn = "
             "\"postgresql://walrelay@host/database?sslmode=verify-full&sslrootcert=FILE\" in "
             "[source], --dsn, or WALRELAY_SOURCE__DSN.");
    }
    if (!IsSourceName(source.name)) {
      Expect("source.name", "at most 128 letters, digits and \"._-:/\"");
    }
    if (!IsSlotName(source.slot)) {
      Expect("source.slot", "at most 63 lower-case letters, digits and underscores");
    }
    if (!IsPublicationName(source.publication)) {
      Expect("source.publication", "at most 63 bytes without backslash or control character");
    }
    if (source.connect_timeout < std::chrono::seconds(1)) {
      Expect("source.connect_timeout", "at least one second");
    }
    if (source.wal_sender_timeout.count() != 0 &&
        source.wal_sender_timeout < std::chrono::seconds(1)) {
      Expect("source.wal_sender_timeout", "\"0\", or at least one second");
    }
    constexpr int64_t kMinDecodingMemory = 64 * 1024;  // logical_decoding_work_mem, in kB
    constexpr int64_t kMaxDecodingMemory = int64_t{2147483647} * 1024;
    if (source.decoding_memory != 0 && (source.decoding_memory < kMinDecodingMemory ||
                                        source.decoding_memory > kMaxDecodingMemory)) {
      Reject("source.decoding_memory",
             fmt::format("source.decoding_memory: expected \"0\", or between \"64KiB\" and "
                         "\"2047GiB\", got {} bytes",
                         source.decoding_memory));
    }
  }

  // One source of the password: which of two would be used could not be seen in the file.
  void CheckPassword() {
    const SourceConfig& source = config_.source;
    if (source.password_command.empty()) {
      return;
    }
    if (source.password_command.front().empty()) {
      Expect("source.password_command", "a program and its arguments");
    } else if (!source.password.empty() || !source.password_file.empty()) {
      Reject("source.password_command",
             "source.password_command excludes source.password and source.password_file");
    }
  }

  // Dropping the slot requires an explicit limit, and excludes the automatic creation of a slot.
  void CheckRetention() {
    const SourceConfig& source = config_.source;
    if (source.on_retained_limit != OnRetainedLimit::kDropSlot) {
      return;
    }
    if (source.max_retained_wal <= 0) {
      Reject("source.on_retained_limit",
             "source.on_retained_limit \"drop_slot\" requires source.max_retained_wal",
             "Set how much WAL the slot may retain: max_retained_wal = \"50GiB\" in [source]; or "
             "leave on_retained_limit at \"alert\".");
    } else if (source.create_slot) {
      Reject("source.on_retained_limit",
             "source.on_retained_limit \"drop_slot\" excludes source.create_slot: the next "
             "start would recreate the dropped slot, and skip the events not published",
             "Remove create_slot, and create the slot with walrelay setup --apply.");
    }
  }

  // The place of the settings of a table: its own block, if there are several.
  std::string PlaceOf(size_t table, std::string_view otherwise) const {
    return config_.source.tables.size() > 1 ? fmt::format("source.tables[{}]", table)
                                            : std::string(otherwise);
  }

  // Column names cannot be checked here: the catalog is not known.
  void CheckTables() {
    const std::vector<OutboxTable>& tables = config_.source.tables;
    for (size_t i = 0; i < tables.size(); ++i) {
      CheckColumns(i);
      CheckEnvelope(i);
      CheckTransforms(i);
      for (size_t j = 0; j < i; ++j) {
        // The second mapping would never be used. The comparison is quadratic; there are few
        // tables.
        if (tables[i].schema == tables[j].schema && tables[i].name == tables[j].name) {
          Reject(PlaceOf(i, ""), fmt::format("table {} is named twice", QualifiedName(tables[i])));
        }
      }
    }
  }

  // A table without its required columns could publish nothing.
  void CheckColumns(size_t index) {
    const OutboxTable& table = config_.source.tables[index];
    for (const auto& [key, name] : {std::pair("aggregate_type", &table.columns.aggregate_type),
                                    std::pair("aggregate_id", &table.columns.aggregate_id),
                                    std::pair("payload", &table.columns.payload)}) {
      if (*name && (*name)->empty()) {
        Reject(
            fmt::format("source.columns.{}", key),
            fmt::format("source.columns.{}: {} requires this column", key, QualifiedName(table)));
      }
    }
    // A record has one partition, so a second column would silently lose.
    const auto partitions = std::count_if(
        table.placements.begin(), table.placements.end(),
        [](const Placement& placement) { return placement.where == Placement::Where::kPartition; });
    if (partitions > 1) {
      Reject(PlaceOf(index, "source.placement"),
             fmt::format("{}: only one column can be the partition", QualifiedName(table)));
    }
  }

  // An envelope is an object, which only JSON can represent. Its members have distinct names.
  void CheckEnvelope(size_t index) {
    const OutboxTable& table = config_.source.tables[index];
    const std::string place = PlaceOf(index, "source.placement");
    // Every envelope has this member, whatever the placements are.
    std::vector<std::string_view> names = {"payload"};
    for (const Placement& placement : table.placements) {
      if (placement.where != Placement::Where::kEnvelope) {
        continue;
      }
      if (std::find(names.begin(), names.end(), placement.name) != names.end()) {
        Reject(place, fmt::format("{}: the envelope has two members \"{}\"", QualifiedName(table),
                                  Printable(placement.name, 63)));
      }
      names.push_back(placement.name);
    }
    if (names.size() > 1 && config_.format.value.format == Format::kRaw) {
      Reject(place, fmt::format("{}: an envelope requires format.value \"json\" or \"json_schema\"",
                                QualifiedName(table)));
    }
  }

  // If a record has two headers of one name, some readers take the first, and others the last.
  void CheckCommitTimeHeader() {
    constexpr std::string_view kOfRecords[] = {"id",          "event_type", "trace_id",
                                               "traceparent", "tracestate", "wr-pos"};
    const std::string& name = config_.route.commit_time_header;
    const auto is_placed = [&name](const OutboxTable& table) {
      return std::any_of(
          table.placements.begin(), table.placements.end(), [&name](const Placement& placement) {
            return placement.where == Placement::Where::kHeader && placement.name == name;
          });
    };
    const auto& tables = config_.source.tables;
    const bool taken =
        name.starts_with("walrelay.") || name.starts_with("__debezium.context.") ||
        std::find(std::begin(kOfRecords), std::end(kOfRecords), name) != std::end(kOfRecords) ||
        std::any_of(tables.begin(), tables.end(), is_placed);
    if (!name.empty() && taken) {
      Reject("route.commit_time_header",
             fmt::format("route.commit_time_header: records may have another header \"{}\"",
                         Printable(name, 63)));
    }
  }

  // A column has one value: the second transform would have no effect.
  void CheckTransforms(size_t index) {
    // Longer than any record that brokers accept by default; the text is kept in memory.
    constexpr int64_t kLongestMask = 1'000'000;
    const OutboxTable& table = config_.source.tables[index];
    const std::string place = PlaceOf(index, "source.transform");
    if (table.name.empty() && !table.transforms.empty()) {
      Reject(place, "source.transform: messages have no columns that a transform could change");
    }
    for (size_t i = 0; i < table.transforms.size(); ++i) {
      const ColumnTransform& transform = table.transforms[i];
      if (transform.kind == ColumnTransform::Kind::kMask && transform.length > kLongestMask) {
        Reject(place, fmt::format("source.transform.length: expected at most {} for a mask, got {}",
                                  kLongestMask, transform.length));
      }
      for (size_t j = 0; j < i; ++j) {
        if (table.transforms[j].column == transform.column) {
          Reject(place, fmt::format("{}: column \"{}\" has two transforms", QualifiedName(table),
                                    Printable(transform.column, 63)));
        }
      }
    }
  }

  // An empty prefix would match no message, and is usually a comma too many.
  void CheckMessages() {
    const SourceConfig& source = config_.source;
    if (std::count(source.message_prefixes.begin(), source.message_prefixes.end(), "") > 0) {
      Reject("source.message_prefixes", "source.message_prefixes: a prefix is empty");
    }
    if (source.tables.front().name.empty() && source.message_prefixes.empty()) {
      Reject("source.table",
             "source.table is empty: name a table, or message prefixes in "
             "source.message_prefixes");
    }
  }

  void CheckFormat() {
    const FormatConfig& format = config_.format;
    for (const auto& [key, part] :
         {std::pair("key", &format.key), std::pair("value", &format.value)}) {
      if (part->delegate != Delegate::kNone && part->format != Format::kBytes) {
        const std::string option = fmt::format("format.{}_delegate", key);
        Reject(option, fmt::format("{}: only format.{} \"bytes\" has a delegate", option, key));
      }
    }
    if (format.expand_json && format.value.format == Format::kRaw) {
      Reject("format.expand_json",
             "format.expand_json requires format.value \"json\" or \"json_schema\"");
    }
  }

  // Each cause that may end in a dead letter needs the topic.
  void CheckErrorPolicy() {
    const ErrorPolicy& policy = config_.on_error;
    const std::pair<const char*, OnError> causes[] = {
        {"null_route", policy.null_route}, {"null_key", policy.null_key},
        {"topic", policy.topic},           {"too_large", policy.too_large},
        {"value", policy.value},           {"refused", policy.refused}};
    const auto* cause = std::find_if(std::begin(causes), std::end(causes), [](const auto& entry) {
      return entry.second == OnError::kDeadLetter;
    });
    if (cause != std::end(causes) && policy.dead_letter_topic.empty()) {
      Reject(fmt::format("on_error.{}", cause->first),
             fmt::format("on_error.{}: \"dead_letter\" requires on_error.dead_letter_topic",
                         cause->first));
    }
  }

  // Only the form: no name is resolved.
  void CheckBrokers() {
    const std::string& servers = config_.kafka.bootstrap_servers;
    if (needs_.kafka && servers.empty()) {
      Reject("kafka.bootstrap_servers", "kafka.bootstrap_servers is missing",
             "Set the Kafka brokers: bootstrap_servers = \"host:9092\" in [kafka], --kafka, or "
             "WALRELAY_KAFKA__BOOTSTRAP_SERVERS.");
    }
    for (std::string_view rest = servers; !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      if (const std::string wrong = BrokerError(rest.substr(0, comma)); !wrong.empty()) {
        Reject("kafka.bootstrap_servers",
               fmt::format("kafka.bootstrap_servers: expected host:port,host:port, got \"{}\"{}",
                           Printable(servers, 200), wrong));
        return;
      }
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }

  // librdkafka would reject these too, under its own property names.
  void CheckKafka() {
    const KafkaConfig& kafka = config_.kafka;
    // In bytes: the range of librdkafka's message.max.bytes.
    constexpr int64_t kMin = 1'000;
    constexpr int64_t kMaxRecord = 1'000'000'000;
    // The maximum of librdkafka's batch.size.
    constexpr int64_t kMaxBatch = std::numeric_limits<int32_t>::max();
    if (kafka.max_record_bytes < kMin || kafka.max_record_bytes > kMaxRecord) {
      Expect("kafka.max_record_bytes", fmt::format("{} to {} bytes", kMin, kMaxRecord));
    }
    if (kafka.max_batch_bytes < kMin || kafka.max_batch_bytes > kMaxBatch) {
      Expect("kafka.max_batch_bytes", fmt::format("{} to {} bytes", kMin, kMaxBatch));
    }
  }

  bool IsPassedThrough(std::string_view property) const {
    const auto& passed = config_.kafka.librdkafka;
    return std::any_of(passed.begin(), passed.end(),
                       [&](const auto& entry) { return entry.first == property; });
  }

  // walrelay turns the property off unless create is "never": the two must not contradict each
  // other.
  void CheckTopics() {
    const KafkaConfig& kafka = config_.kafka;
    const bool on_demand =
        std::any_of(kafka.librdkafka.begin(), kafka.librdkafka.end(), [](const auto& property) {
          return property.first == "allow.auto.create.topics" && property.second == "true";
        });
    if (on_demand && kafka.topics.create != CreateTopics::kNever) {
      Reject("kafka.topics.create", fmt::format("kafka.topics.create \"{}\" excludes "
                                                "kafka.librdkafka.allow.auto.create.topics = true",
                                                NameOfChoice(kafka.topics.create)));
    }
  }

  // The id is a part of the topic's name.
  void CheckProgress() {
    const std::string& id = config_.pipeline.id;
    if (id.size() > 128 || !CheckTopicPart(id).ok()) {
      Expect("pipeline.id", "at most 128 letters, digits and \"._-\"");
    }
    CheckRecord();
    // A third of it is the longest that a transaction stays open while brokers answer.
    if (config_.kafka.transaction_timeout < std::chrono::seconds(10) ||
        config_.kafka.transaction_timeout > std::chrono::hours(1)) {
      Expect("kafka.transaction_timeout", "between \"10s\" and \"1h\"");
    }
    const std::string& topic = config_.kafka.progress_topic;
    if (!topic.empty() && !CheckTopicName(topic).ok()) {
      Expect("kafka.progress_topic", "the name of a topic");
    }
    if (config_.on_error.dead_letter_topic.starts_with(kProgressTopicPrefix)) {
      Reject("on_error.dead_letter_topic",
             fmt::format("on_error.dead_letter_topic: topics that begin with {} have progress "
                         "records",
                         kProgressTopicPrefix));
    }
    if (!topic.empty() && topic == config_.on_error.dead_letter_topic) {
      Reject("kafka.progress_topic",
             "kafka.progress_topic and on_error.dead_letter_topic are the same topic");
    }
  }

  // Two modes and [prune] need the record of progress. No other rule connects mode and progress.
  void CheckRecord() {
    const PipelineConfig& pipeline = config_.pipeline;
    const struct {
      bool used;
      const char* option;
      const char* why;
    } needs[] = {
        {pipeline.resumes_from_topics(), "pipeline.mode",
         "Positions in the topics can be compared only with a record of the server's history"},
        {pipeline.exactly_once(), "pipeline.mode",
         "The record of progress is a part of each transaction"},
        {config_.prune.mode != PruneMode::kOff, "prune.mode",
         "The record of progress proves which rows are published"},
    };
    for (const auto& need : needs) {
      if (need.used && !pipeline.records_progress()) {
        Reject(need.option,
               fmt::format("{} = {} excludes pipeline.progress = \"off\"", need.option,
                           FindOption(need.option)->show(config_)),
               fmt::format("{}: remove progress = \"off\" from [pipeline].", need.why));
      }
    }
  }

  void CheckPruning() {
    const PruneConfig& prune = config_.prune;
    // A statement with more rows would hold its locks for long.
    constexpr int64_t kMostRows = 100'000;
    constexpr int64_t kMostAhead = 1'000;
    if (prune.batch_rows < 1 || prune.batch_rows > kMostRows) {
      Expect("prune.batch_rows", fmt::format("1 to {} rows", kMostRows));
    }
    if (prune.max_rows_per_second < 1) {
      Expect("prune.max_rows_per_second", "at least 1");
    }
    if (prune.partitions_ahead < 1 || prune.partitions_ahead > kMostAhead) {
      Expect("prune.partitions_ahead", fmt::format("1 to {}", kMostAhead));
    }
    if (prune.interval < std::chrono::seconds(1)) {
      Expect("prune.interval", "at least \"1s\"");
    }
    if (prune.time_column.empty()) {
      Reject("prune.time_column", "prune.time_column is empty: no age can be compared");
    }
    if (prune.mode == PruneMode::kOff) {
      return;
    }
    if (config_.source.origin == OriginFilter::kNone) {
      Reject("prune.mode", "prune.mode excludes source.origin \"none\"",
             "Rows of other origins are not published by this relay, and their xmin does not tell "
             "them from its own. Delete rows with a job of your own.");
    }
    if (prune.mode == PruneMode::kMark && config_.source.on_update == OnUpdate::kFail) {
      Reject("prune.mode", "prune.mode \"mark\" excludes source.on_update \"fail\"",
             "To mark a row is an UPDATE of it.");
    }
    if ((prune.mode == PruneMode::kMark) != !prune.mark_column.empty()) {
      Reject("prune.mark_column", prune.mark_column.empty()
                                      ? "prune.mode \"mark\" requires prune.mark_column"
                                      : "prune.mark_column requires prune.mode \"mark\"");
    }
  }

  // librdkafka's default is GSSAPI, and its error names a property of Kerberos. An error is at the
  // option that requires the missing one.
  void CheckLogin() {
    const KafkaConfig& kafka = config_.kafka;
    if (!kafka.security_protocol.starts_with("SASL_")) {
      return;
    }
    if (kafka.sasl_mechanism.empty() && !IsPassedThrough("sasl.mechanism") &&
        !IsPassedThrough("sasl.mechanisms")) {
      RejectMissing(
          "kafka.sasl_mechanism", "kafka.security_protocol",
          fmt::format("kafka.sasl_mechanism is missing: security_protocol \"{}\" requires one "
                      "of {}",
                      kafka.security_protocol,
                      fmt::join(FindOption("kafka.sasl_mechanism")->choices, ", ")));
    }
    const bool has_password =
        kafka.sasl_mechanism == "PLAIN" || kafka.sasl_mechanism.starts_with("SCRAM-");
    if (has_password && kafka.sasl_username.empty() && !IsPassedThrough("sasl.username")) {
      RejectMissing("kafka.sasl_username", "kafka.sasl_mechanism",
                    fmt::format("kafka.sasl_username is missing: {} requires a user and a password",
                                kafka.sasl_mechanism));
    } else if (has_password && kafka.sasl_password.empty() && kafka.sasl_password_file.empty()) {
      RejectMissing(
          "kafka.sasl_password_file", "kafka.sasl_mechanism",
          fmt::format("kafka.sasl_password_file is missing: {} requires a user and a password",
                      kafka.sasl_mechanism));
    }
  }

  void CheckTokens() {
    if (const absl::Status status = ValidateKafkaLogin(config_.kafka); !status.ok()) {
      errors_.push_back({"kafka.sasl_mechanism", status});
    }
  }

  const Config& config_;
  const ConfigNeeds needs_;
  std::vector<OptionError> errors_;
};

}  // namespace

std::vector<OptionError> FindInvalidValues(const Config& config, ConfigNeeds needs) {
  WR_CHECK(!config.source.tables.empty(), "the loader builds a table");
  return Validator(config, needs).Run();
}

absl::Status ValidateConfig(const Config& config, ConfigNeeds needs) {
  std::vector<absl::Status> errors;
  for (OptionError& error : FindInvalidValues(config, needs)) {
    errors.push_back(std::move(error.error));
  }
  return errors.empty() ? absl::OkStatus() : JoinErrors(errors);
}

}  // namespace walrelay

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "config/loader.h"
#include "config/option_value.h"
#include "walrelay/error.h"

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

// Dropping the slot requires an explicit limit, and excludes the automatic creation of a slot.
absl::Status ValidateRetention(const SourceConfig& source) {
  if (source.on_retained_limit != OnRetainedLimit::kDropSlot) {
    return absl::OkStatus();
  }
  if (source.max_retained_wal <= 0) {
    return Error(
        ErrorCode::kConfigValue,
        "source.on_retained_limit \"drop_slot\" requires source.max_retained_wal",
        "Set how much WAL the slot may retain: max_retained_wal = \"50GiB\" in [source]; or "
        "leave on_retained_limit at \"alert\".");
  }
  if (source.create_slot) {
    return Error(ErrorCode::kConfigValue,
                 "source.on_retained_limit \"drop_slot\" excludes source.create_slot: the next "
                 "start would recreate the dropped slot, and skip the events not published",
                 "Remove create_slot, and create the slot with walrelay setup --apply.");
  }
  return absl::OkStatus();
}

absl::Status ValidateSource(const SourceConfig& source, ConfigNeeds needs) {
  if (needs.postgres && source.dsn.empty()) {
    return Error(ErrorCode::kConfigValue, "source.dsn is missing",
                 "Set the Postgres server: dsn = "
                 "\"postgresql://walrelay@host/database?sslmode=verify-full\" in "
                 "[source], --dsn, or WALRELAY_SOURCE__DSN.");
  }
  if (!IsSourceName(source.name)) {
    return InvalidValue(
        fmt::format("source.name: expected at most 128 letters, digits and \"._-:/\", got \"{}\"",
                    Printable(source.name, 80)));
  }
  if (!IsSlotName(source.slot)) {
    return InvalidValue(fmt::format(
        "source.slot: expected at most 63 lower-case letters, digits and underscores, got \"{}\"",
        Printable(source.slot, 80)));
  }
  if (!IsPublicationName(source.publication)) {
    return InvalidValue(fmt::format(
        "source.publication: expected at most 63 bytes without backslash or control character, "
        "got \"{}\"",
        Printable(source.publication, 80)));
  }
  if (source.connect_timeout < std::chrono::seconds(1)) {
    return InvalidValue("source.connect_timeout: expected at least one second");
  }
  if (source.wal_sender_timeout.count() != 0 &&
      source.wal_sender_timeout < std::chrono::seconds(1)) {
    return InvalidValue("source.wal_sender_timeout: expected \"0\", or at least one second");
  }
  constexpr int64_t kMinDecodingMemory = 64 * 1024;  // logical_decoding_work_mem, in kB
  constexpr int64_t kMaxDecodingMemory = int64_t{2147483647} * 1024;
  if (source.decoding_memory != 0 && (source.decoding_memory < kMinDecodingMemory ||
                                      source.decoding_memory > kMaxDecodingMemory)) {
    return InvalidValue(
        "source.decoding_memory: expected \"0\", or between \"64KiB\" and \"2047GiB\"");
  }
  return ValidateRetention(source);
}

// A table without its required columns could publish nothing.
absl::Status ValidateColumns(const OutboxTable& table) {
  const auto empty = [](const std::optional<std::string>& name) { return name && name->empty(); };
  if (empty(table.columns.aggregate_type) || empty(table.columns.aggregate_id) ||
      empty(table.columns.payload)) {
    return InvalidValue(fmt::format("{}.{}: aggregate_type, aggregate_id and payload are required",
                                    table.schema, table.name));
  }
  // A record has one partition, so a second column would silently lose.
  const auto partitions = std::count_if(
      table.placements.begin(), table.placements.end(),
      [](const Placement& placement) { return placement.where == Placement::Where::kPartition; });
  if (partitions > 1) {
    return InvalidValue(
        fmt::format("{}.{}: only one column can be the partition", table.schema, table.name));
  }
  return absl::OkStatus();
}

// An envelope is an object, which only JSON can represent. Its members have distinct names.
absl::Status ValidateEnvelope(const OutboxTable& table, const PartFormat& value) {
  // Every envelope has this member, whatever the placements are.
  std::vector<std::string_view> names = {"payload"};
  for (const Placement& placement : table.placements) {
    if (placement.where != Placement::Where::kEnvelope) {
      continue;
    }
    if (value.format == Format::kRaw) {
      return InvalidValue(
          fmt::format("{}.{}: an envelope requires format.value \"json\" or \"json_schema\"",
                      table.schema, table.name));
    }
    if (std::find(names.begin(), names.end(), placement.name) != names.end()) {
      return InvalidValue(fmt::format("{}.{}: the envelope has two members \"{}\"", table.schema,
                                      table.name, Printable(placement.name, 63)));
    }
    names.push_back(placement.name);
  }
  return absl::OkStatus();
}

absl::Status ValidateFormat(const FormatConfig& format, const std::vector<OutboxTable>& tables) {
  for (const PartFormat* part : {&format.key, &format.value}) {
    if (part->delegate != Delegate::kNone && part->format != Format::kBytes) {
      return InvalidValue("format: only \"bytes\" has a delegate");
    }
  }
  if (format.expand_json && format.value.format == Format::kRaw) {
    return InvalidValue("format.expand_json requires format.value \"json\" or \"json_schema\"");
  }
  for (const OutboxTable& table : tables) {
    WR_RETURN_IF_ERROR(ValidateEnvelope(table, format.value));
  }
  return absl::OkStatus();
}

// Column names cannot be checked here: the catalog is not known.
absl::Status ValidateTables(const std::vector<OutboxTable>& tables) {
  for (size_t i = 0; i < tables.size(); ++i) {
    WR_RETURN_IF_ERROR(ValidateColumns(tables[i]));
    for (size_t j = 0; j < i; ++j) {
      // The second mapping would never be used. The comparison is quadratic; there are few tables.
      if (tables[i].schema == tables[j].schema && tables[i].name == tables[j].name) {
        return InvalidValue(
            fmt::format("table {}.{} is named twice", tables[i].schema, tables[i].name));
      }
    }
  }
  return absl::OkStatus();
}

// An empty prefix would match no message, and is usually a comma too many.
absl::Status ValidateMessages(const SourceConfig& source) {
  for (const std::string& prefix : source.message_prefixes) {
    if (prefix.empty()) {
      return InvalidValue("source.message_prefixes: a prefix is empty");
    }
  }
  return source.tables.front().name.empty() && source.message_prefixes.empty()
             ? InvalidValue(
                   "source.table is empty: name a table, or message prefixes in "
                   "source.message_prefixes")
             : absl::OkStatus();
}

// Each cause that may end in a dead letter needs the topic.
absl::Status ValidateErrorPolicy(const ErrorPolicy& policy) {
  const OnError all[] = {policy.null_route, policy.null_key, policy.topic,
                         policy.too_large,  policy.value,    policy.refused};
  const bool wants_topic = std::any_of(std::begin(all), std::end(all),
                                       [](OnError on) { return on == OnError::kDeadLetter; });
  if (wants_topic && policy.dead_letter_topic.empty()) {
    return InvalidValue("on_error: \"dead_letter\" requires on_error.dead_letter_topic");
  }
  return absl::OkStatus();
}

// librdkafka would reject these too, under its own property names.
absl::Status ValidateKafka(const KafkaConfig& kafka) {
  // In bytes: the range of librdkafka's message.max.bytes.
  constexpr int64_t kMin = 1'000;
  constexpr int64_t kMaxRecord = 1'000'000'000;
  // The maximum of librdkafka's batch.size.
  constexpr int64_t kMaxBatch = std::numeric_limits<int32_t>::max();
  if (kafka.max_record_bytes < kMin || kafka.max_record_bytes > kMaxRecord) {
    return InvalidValue(fmt::format("kafka.max_record_bytes: expected {} to {}, got {}", kMin,
                                    kMaxRecord, kafka.max_record_bytes));
  }
  if (kafka.max_batch_bytes < kMin || kafka.max_batch_bytes > kMaxBatch) {
    return InvalidValue(fmt::format("kafka.max_batch_bytes: expected {} to {}, got {}", kMin,
                                    kMaxBatch, kafka.max_batch_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

// In the order of the sections; the first error is reported.
absl::Status ValidateConfig(const Config& config, ConfigNeeds needs) {
  WR_CHECK(!config.source.tables.empty(), "the loader builds a table");
  WR_RETURN_IF_ERROR(ValidateSource(config.source, needs));
  WR_RETURN_IF_ERROR(ValidateTables(config.source.tables));
  WR_RETURN_IF_ERROR(ValidateMessages(config.source));
  WR_RETURN_IF_ERROR(ValidateFormat(config.format, config.source.tables));
  WR_RETURN_IF_ERROR(ValidateErrorPolicy(config.on_error));
  WR_RETURN_IF_ERROR(ValidateKafka(config.kafka));
  if (needs.kafka && config.kafka.bootstrap_servers.empty()) {
    return Error(ErrorCode::kConfigValue, "kafka.bootstrap_servers is missing",
                 "Set the Kafka brokers: bootstrap_servers = \"host:9092\" in [kafka], --kafka, or "
                 "WALRELAY_KAFKA__BOOTSTRAP_SERVERS.");
  }
  if (config.pipeline.confirm_interval > std::chrono::seconds(10)) {
    return InvalidValue(
        "pipeline.confirm_interval: expected at most ten seconds, because a crash repeats this "
        "much");
  }
  // Each poll is a query on the primary.
  if (config.metrics.slot_poll_interval < std::chrono::milliseconds(100)) {
    return InvalidValue("metrics.slot_poll_interval: expected at least 100 ms");
  }
  return absl::OkStatus();
}

}  // namespace walrelay

#include "conformance/subject.h"

#include <fmt/format.h>

#include "base/system_clock.h"
#include "config/loader.h"
#include "conformance/pg_type.h"
#include "debezium/debezium_options.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/sole_metrics.h"
#include "relay/pipeline.h"
#include "walrelay/config.h"
#include "walrelay/error.h"
#include "walrelay/sink.h"

namespace walrelay::conformance {
namespace {

using testing::ByteWriter;

constexpr uint32_t kOutbox = 16385;
const WallTime kCommitTime{Micros(1'700'000'000'123'000)};

// Accepts every record.
class Capture final : public Sink {
 public:
  std::vector<Published> records;

  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken /*token*/) override {
    Published& copy = records.emplace_back();
    copy.topic = record.topic;
    copy.key = record.key;
    copy.value = record.value;
    copy.partition = record.partition;
    for (const Header& header : record.headers) {
      copy.headers.emplace_back(header.name, header.value);
    }
    if (record.timestamp) {
      copy.timestamp_ms =
          std::chrono::floor<std::chrono::milliseconds>(record.timestamp->time_since_epoch())
              .count();
    }
    return Wait::kNone;
  }
  void Poll(DeliveryListener& /*listener*/) override {}
  absl::Status FatalError() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }
};

// Sets the connector properties for a converter as named in the cases.
void SetConverter(const std::string& part, const std::string& converter, DebeziumOptions& out) {
  const std::string name = part + ".converter";
  out[name] = converter.substr(0, converter.find('('));
  if (converter.find("schemas=false") != std::string::npos) {
    out[name + ".schemas.enable"] = "false";
  }
}

absl::StatusOr<Config> ConfigOf(const Case& one, const std::string& key, const std::string& value) {
  DebeziumOptions connector = one.connector;
  connector.try_emplace("topic.prefix", "srv");
  // The cases show these headers only where they name the option.
  connector.try_emplace("extended.headers.enabled", "false");
  SetConverter("key", key, connector);
  SetConverter("value", value, connector);
  WR_ASSIGN_OR_RETURN(DebeziumTranslation translation, TranslateDebezium(one.router, connector));
  if (one.message_decoder) {
    translation.settings["source.message_prefixes"] = one.message_prefix;
    translation.settings["format.message_nulls"] = "ignore";
    for (const auto& [name, option] : *one.message_decoder) {
      TranslateMessageDecoderOption(name, option, translation);
    }
  }
  Config config;
  WR_RETURN_IF_ERROR(ApplyTranslation(translation, config));
  WR_RETURN_IF_ERROR(ValidateConfig(config, {.postgres = false, .kafka = false}));
  return config;
}

TableInfo FactsOf(const Case& one) {
  TableInfo info{.schema = "public", .name = "outbox", .oid = kOutbox};
  for (const CaseColumn& column : one.columns) {
    info.columns.push_back({.name = column.name,
                            .not_null = !column.nullable,
                            .default_expression = column.default_expression,
                            .enum_labels = ParsePgType(column.pg_type).enum_labels});
  }
  return info;
}

std::vector<testing::ColumnSpec> ColumnsOf(const Case& one) {
  std::vector<testing::ColumnSpec> specs;
  for (const CaseColumn& column : one.columns) {
    const PgType type = ParsePgType(column.pg_type);
    specs.push_back({column.name, type.oid, column.name == "id", type.modifier});
  }
  return specs;
}

testing::Row RowOf(const Case& one) {
  std::vector<std::optional<std::string>> values;
  for (const CaseColumn& column : one.columns) {
    values.push_back(column.value);
  }
  return testing::TextRow(std::move(values));
}

// The messages that Postgres sends for a case between BEGIN and COMMIT. Some operations are
// internal records of Debezium, which have no message in the stream.
std::vector<std::string> MessagesOf(const Case& one) {
  const testing::Row row = RowOf(one);
  // A row of a snapshot is routed like an inserted row.
  if (one.op == "insert" || one.op == "read" || one.op == "snapshot") {
    return {testing::InsertMessage(kOutbox, row)};
  }
  if (one.op == "update") {
    return {testing::UpdateMessage(kOutbox, row)};
  }
  if (one.op == "update_pk") {
    testing::Row old_row = row;
    old_row.front() = testing::Value::Text("00000000-0000-4000-8000-000000000001");
    return {testing::UpdateMessage(kOutbox, row, old_row)};
  }
  if (one.op == "delete" || one.op == "tombstone") {
    return {testing::DeleteMessage(kOutbox, row)};
  }
  if (one.op == "truncate") {
    return {testing::TruncateMessage({kOutbox})};
  }
  if (one.op == "message") {
    return {testing::LogicalMessage(one.message_is_transactional, Lsn(0x100), one.message_prefix,
                                    one.message_content)};
  }
  return {};
}

std::vector<std::string> TransactionOf(const Case& one, uint64_t number) {
  const Lsn begin(number * 0x1000);
  const Lsn end(number * 0x1000 + 0x100);
  std::vector<std::string> out = {
      testing::BeginMessage(begin, kCommitTime, static_cast<uint32_t>(number)),
      testing::RelationMessage(kOutbox, "public", "outbox", ColumnsOf(one))};
  for (std::string& message : MessagesOf(one)) {
    out.push_back(std::move(message));
  }
  out.push_back(testing::CommitMessage(begin, end, kCommitTime));
  return out;
}

std::string RunIdOf(const Case& one) {
  for (const auto& [name, value] : one.headers) {
    if (name == "__debezium.context.runId") {
      return value.value_or("");
    }
  }
  return "";
}

}  // namespace

Outcome Run(const std::vector<const Case*>& rows, const std::string& key,
            const std::string& value) {
  Outcome out;
  const Case& last = *rows.back();
  const auto config = ConfigOf(last, key, value);
  if (!config.ok()) {
    out.refused = config.status();
    return out;
  }
  auto router = Router::Create(config->source, config->route, config->format, RunIdOf(last));
  if (!router.ok()) {
    out.refused = router.status();
    return out;
  }
  AckTracker tracker;
  testing::SoleMetrics metrics;
  Capture producer;
  const SystemClock clock;
  RecordSender sender(producer, tracker, metrics, clock, nullptr);
  Pipeline pipeline(*config, *std::move(router), tracker, sender, metrics);
  const TableInfo info = FactsOf(last);
  pipeline.StartSession({&info, 1});
  uint64_t number = 1;
  for (const Case* row : rows) {
    producer.records.clear();
    for (const std::string& message : TransactionOf(*row, number++)) {
      const auto outcome = pipeline.Handle({.payload = message});
      if (!outcome.ok()) {
        out.blocked = outcome.status();
        return out;
      }
    }
  }
  out.records = std::move(producer.records);
  return out;
}

}  // namespace walrelay::conformance

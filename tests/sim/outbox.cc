#include "outbox.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

#include "walrelay/config.h"

namespace walrelay::sim {
namespace {

using testing::ColumnSpec;
using testing::Value;

constexpr std::array<std::string_view, kTopicCount> kTypes = {"order", "invoice", "shipment"};
constexpr std::string_view kMark = "event=";

std::string_view TypeOf(uint32_t key) {
  return kTypes[key % kTopicCount];
}

std::string KeyOf(uint32_t key) {
  return fmt::format("key-{}", key);
}

std::string PayloadOf(int id, const Event& event) {
  std::string payload = fmt::format("{}{};", kMark, id);
  const size_t size = event.flaw == Flaw::kTooLarge ? kMaxRecordBytes + 1 : event.size;
  payload.resize(std::max(payload.size(), size), 'x');
  return payload;
}

// ALTER TABLE: a column before the others was dropped, then one was added after them.
std::vector<ColumnSpec> ColumnsOf(int schema) {
  std::vector<ColumnSpec> columns = {
      {"id", 25, true}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}};
  if (schema == 0) {
    columns.insert(columns.begin() + 1, ColumnSpec{"note"});
  } else if (schema == 2) {
    columns.push_back({"created_by"});
  }
  return columns;
}

std::string TypeText(const Event& event) {
  return event.flaw == Flaw::kBadTopic ? "no topic/name" : std::string(TypeOf(event.key));
}

}  // namespace

std::string TopicOf(uint32_t key) {
  return fmt::format("outbox.event.{}", TypeOf(key));
}

// What does not match stays as it is: a topic that is not valid.
RouteConfig MergedRoute() {
  RouteConfig route;
  route.regex = "order|invoice|shipment";
  route.topic = kMergedTopic;
  return route;
}

uint32_t RoutingOf(const Config& config) {
  return (config.route.topic == kMergedTopic ? 1u : 0u) +
         2u * static_cast<uint32_t>(config.on_error.null_key);
}

bool IsMerged(uint32_t routing) {
  return routing % 2 == 1;
}

std::string DescribeTable(uint32_t oid, int schema) {
  return oid == kOutboxOid ? testing::RelationMessage(oid, "public", "outbox", ColumnsOf(schema))
                           : testing::RelationMessage(oid, "public", "customers", {{"id"}});
}

testing::Row RowOf(int id, const Event& event, int schema) {
  testing::Row row = {Value::Text(std::to_string(id)), Value::Text(TypeText(event)),
                      Value::Text(KeyOf(event.key)), Value::Text(PayloadOf(id, event))};
  if (event.flaw == Flaw::kNullType) {
    row[1] = Value::Null();
  } else if (event.flaw == Flaw::kNullKey) {
    row[2] = Value::Null();
  }
  if (schema == 0) {
    row.insert(row.begin() + 1, Value::Text("note"));
  } else if (schema == 2) {
    row.push_back(Value::Text("operator"));
  }
  return row;
}

std::string ContentOf(int id, const Event& event) {
  const auto quoted = [](std::string_view text) { return fmt::format("\"{}\"", text); };
  return fmt::format(R"({{"id": {}, "aggregate_type": {}, "aggregate_id": {}, "payload": {}}})", id,
                     event.flaw == Flaw::kNullType ? "null" : quoted(TypeText(event)),
                     event.flaw == Flaw::kNullKey ? "null" : quoted(KeyOf(event.key)),
                     quoted(PayloadOf(id, event)));
}

std::optional<int> EventOf(const Record& record) {
  const std::string_view value = record.value.value_or("");
  const size_t mark = value.find(kMark);
  int id = 0;
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  const char* digits = value.data() + mark + kMark.size();
  const auto parsed = std::from_chars(digits, value.data() + value.size(), id);
  return parsed.ec == std::errc() ? std::optional(id) : std::nullopt;
}

std::string WrongWith(const Record& record, int id, const Event& event, std::string_view topic) {
  if (event.flaw != Flaw::kNone) {
    return record.topic == kDeadLetterTopic ? "" : "its topic is not the dead-letter topic";
  }
  if (record.topic != topic) {
    return fmt::format("its topic is {}", record.topic);
  }
  if (record.key != KeyOf(event.key)) {
    return fmt::format("its key is {}", record.key.value_or("NULL"));
  }
  if (record.value != PayloadOf(id, event)) {
    return "its payload has changed";
  }
  const bool id_header = record.headers.size() == 1 && record.headers[0].name == "id" &&
                         record.headers[0].value == std::to_string(id);
  return id_header ? "" : "its headers are not those of its row";
}

}  // namespace walrelay::sim

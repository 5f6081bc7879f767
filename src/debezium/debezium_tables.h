// Decides which tables a connector publishes as outboxes, and so walrelay: from its lists of tables
// and schemas, its heartbeat and signal tables, and the predicate of its router.
//
// Source: io.debezium.relational.RelationalTableFilters and Selectors, Debezium 3.7;
// org.apache.kafka.connect.transforms.predicates.TopicNameMatches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/debezium_translation.h"

namespace walrelay {

// The records for which a transform has an effect.
enum class Reach : uint8_t { kAll, kSome, kNone, kUnknown };

class DebeziumTables {
 public:
  // `connector`: all properties. `router`: the prefix of the router's options,
  // "transforms.outbox.". Both must outlive the object. `messages`: a transform decodes logical
  // messages for the router.
  DebeziumTables(const DebeziumOptions& connector, const std::string& router, bool messages);

  // "schema.table"; empty if the connector does not name its tables one by one.
  const std::vector<std::string>& tables() const { return tables_; }

  // The result of a property that selects tables or belongs to a predicate; nullopt for others.
  std::optional<PropertyResult> ResultOf(std::string_view name) const;

  // Returns which of the tables' records a transform changes. `transform`: its prefix. Only for
  // transforms that precede the router, because the router changes the topic.
  Reach ReachOf(const std::string& transform) const;

 private:
  void ReadList();
  void ApplySchemas(const std::string& table_list);
  void LeaveOut(const std::string& table, std::string_view reason);
  std::string HeartbeatTable() const;
  void LeaveOutOwnTables();
  void ReportTables(const std::string& table_list);
  void ReportPredicate();
  void ReportPredicateProperties();
  std::optional<bool> IsTrue(const std::string& predicate, std::string_view topic) const;
  std::optional<bool> Applies(const std::string& transform, std::string_view topic) const;
  std::optional<std::string> TopicOf(const std::string& table) const;
  std::vector<std::string> Topics() const;
  std::string Option(std::string_view name) const { return ValueOr(connector_, name, ""); }

  const DebeziumOptions& connector_;
  const std::string& router_;
  const bool messages_;
  std::vector<std::string> tables_;
  std::vector<std::string> left_out_;  // for the report, each with its reason
  std::map<std::string, PropertyResult, std::less<>> results_;
};

}  // namespace walrelay

// Reads a file of cases, in the format of cases.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/debezium_options.h"

namespace walrelay::conformance {

struct CaseColumn {
  std::string name;
  std::string pg_type;
  bool nullable = true;
  std::string default_expression;
  std::optional<std::string> value;  // as Postgres prints it; nullopt: NULL
};

// The bytes of a key or a value under one converter.
struct Expected {
  bool fails = false;
  std::optional<std::string> bytes;  // nullopt: null
};

struct Case {
  std::string id;
  std::string op;
  DebeziumOptions router;
  DebeziumOptions connector;
  std::vector<CaseColumn> columns;
  std::string group;  // of a sequence; "": not part of one
  bool nondeterministic = false;
  std::vector<std::string> alternatives;  // of the value under JsonConverter without schemas
  std::string message_prefix;             // of a logical message
  std::string message_content;
  bool message_is_transactional = true;
  std::optional<DebeziumOptions> message_decoder;  // of the transform that decodes it, if any

  std::string outcome;  // routed, dropped, error, config_error, passed_through_unchanged
  bool worker_fails = false;
  std::string topic;
  std::optional<int32_t> partition;
  std::optional<int64_t> timestamp_ms;
  std::map<std::string, Expected> key;  // by converter
  std::map<std::string, Expected> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

absl::StatusOr<std::vector<Case>> ReadCases(const std::string& path);

}  // namespace walrelay::conformance

// The files that hold the configuration of a Debezium connector, read into properties of one
// spelling: that of Kafka Connect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

// As Connect spells it: "slot.name", "transforms.outbox.route.by.field", "value.converter",
// "producer.override.linger.ms". What Debezium Server alone has keeps its name.
struct DebeziumProperty {
  std::string name;
  std::string value;
  std::string shown;      // as the file spells it
  bool external = false;  // fetched when the connector starts: "${file:/secrets:password}"
};

struct DebeziumFile {
  std::string form;        // "a connector's JSON", …: for people
  bool is_server = false;  // Debezium Server's, whose formats have defaults
  std::vector<DebeziumProperty> properties;
};

// Whether Connect would ask a config provider for a value: "${provider:path:key}".
bool AsksProvider(std::string_view value);

// Whether `text` is such a file, and not a walrelay.toml.
bool IsDebeziumFile(std::string_view text);

// Takes a connector as Connect's REST interface has it (its properties, or {"name", "config"}), a
// KafkaConnector resource of Strimzi (YAML or JSON), .properties of a standalone connector, and
// application.properties of Debezium Server. Errors: WR-1001; WR-1007 for anything else.
absl::StatusOr<DebeziumFile> ReadDebeziumFile(std::string_view text);

}  // namespace walrelay

// Reads the file formats of a Debezium connector's configuration into properties with Kafka
// Connect's names.
// The formats are recognised by their content, not by the file's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace walrelay {

// Name as in Connect: "slot.name", "transforms.outbox.route.by.field", "value.converter",
// "producer.override.linger.ms". Properties that only Debezium Server has keep their names.
struct DebeziumProperty {
  std::string name;
  std::string value;
  std::string shown;      // name as in the file
  bool external = false;  // fetched when the connector starts: "${file:/secrets:password}"
};

struct DebeziumFile {
  std::string form;        // "a connector's properties in JSON", …: for reports
  bool is_server = false;  // Debezium Server, whose formats have defaults
  std::vector<DebeziumProperty> properties;
};

// Whether Connect would fetch the value from a config provider: "${provider:path:key}".
bool AsksProvider(std::string_view value);

// Whether `text` is such a file, and not a walrelay.toml.
// Decided by the first characters and by single lines, without parsing: the error of a broken file
// is that of its own format's parser.
bool IsDebeziumFile(std::string_view text);

// Accepts a connector as returned by Connect's REST API (its properties, {"name", "config"}, or all
// connectors with expand=info) or by MSK Connect; a KafkaConnector resource of Strimzi or a
// Connector of Confluent for Kubernetes, in YAML or JSON, also in a List or among other documents;
// .properties of a standalone connector; application.properties of Debezium Server, and its
// environment variables. If there are several connectors, selects the only one with an EventRouter.
// Errors: WR-1001; WR-1007 for anything else.
absl::StatusOr<DebeziumFile> ReadDebeziumFile(std::string_view text);

}  // namespace walrelay

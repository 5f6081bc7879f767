#include "debezium/debezium_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/text.h"
#include "debezium/java_properties.h"
#include "debezium/property_tree.h"
#include "debezium/server_properties.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

absl::Status NotAConnector(std::string_view what) {
  return Error(ErrorCode::kConnectorRefused, what,
               "Give the connector's JSON (curl CONNECT/connectors/NAME), its KafkaConnector "
               "resource, or Debezium Server's application.properties.");
}

// Calls `visit` with each line, without its indent, until it returns true. Returns whether it did.
// The form is recognised without parsing, so that the error of a broken file is that of its own
// parser.
template <typename Visit>
bool AnyLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (visit(line)) {
      return true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// No other form begins with a brace: a TOML file cannot.
bool IsJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

// Every Kubernetes resource has this line; a file may hold several resources.
bool IsResource(std::string_view text) {
  return AnyLine(text, [](std::string_view line) { return line.starts_with("apiVersion:"); });
}

bool IsProperties(std::string_view text) {
  return AnyLine(text, [](std::string_view line) {
    return line.starts_with("debezium.source.") || line.starts_with("connector.class");
  });
}

// A list or a map as a value is not a property of Connect.
absl::Status AddProperty(const std::string& name, const PropertyNode& value, DebeziumFile& out) {
  if (value.kind == PropertyNode::Kind::kNull) {
    return absl::OkStatus();  // like an absent property
  }
  if (value.kind != PropertyNode::Kind::kScalar) {
    return NotAConnector(fmt::format("\"{}\": expected a scalar value", Printable(name, 120)));
  }
  out.properties.push_back(
      {.name = name, .value = value.text, .shown = name, .external = AsksProvider(value.text)});
  return absl::OkStatus();
}

absl::Status AddProperties(const PropertyNode& map, DebeziumFile& out) {
  for (size_t i = 0; i < map.names.size(); ++i) {
    WR_RETURN_IF_ERROR(AddProperty(map.names[i], map.items[i], out));
  }
  return absl::OkStatus();
}

// Also false for an absent node.
bool IsMap(const PropertyNode* node) {
  return node != nullptr && node->kind == PropertyNode::Kind::kMap;
}

std::string TextOf(const PropertyNode& map, std::string_view name) {
  const PropertyNode* found = map.Find(name);
  return found == nullptr ? "" : found->text;
}

// Strimzi's resource, and Confluent for Kubernetes', which has other names for the same members.
bool IsConnectorResource(const PropertyNode& node) {
  const std::string kind = TextOf(node, "kind");
  return (kind == "KafkaConnector" || kind == "Connector") && IsMap(node.Find("spec"));
}

// spec: class, tasksMax, config and Strimzi's own settings.
// Settings of the resource itself are reported too, each with its own outcome.
absl::StatusOr<DebeziumFile> FromResource(const PropertyNode& resource) {
  DebeziumFile out{.form = fmt::format("a {} resource", TextOf(resource, "kind"))};
  const PropertyNode& spec = *resource.Find("spec");
  for (size_t i = 0; i < spec.names.size(); ++i) {
    const std::string& name = spec.names[i];
    const PropertyNode& value = spec.items[i];
    if ((name == "config" || name == "configs") && IsMap(&value)) {
      WR_RETURN_IF_ERROR(AddProperties(value, out));
    } else {
      const std::string property = name == "class"                           ? "connector.class"
                                   : name == "tasksMax" || name == "taskMax" ? "tasks.max"
                                                                             : "spec." + name;
      out.properties.push_back({.name = property, .value = value.text, .shown = "spec." + name});
    }
  }
  return out;
}

// A connector of a file that may contain several.
struct NamedConnector {
  std::string name;
  DebeziumFile file;
};

bool RoutesEvents(const NamedConnector& connector) {
  const auto& properties = connector.file.properties;
  return std::any_of(properties.begin(), properties.end(), [](const DebeziumProperty& property) {
    return property.value.ends_with(".outbox.EventRouter");
  });
}

// The only connector; if there are several, the only one with an EventRouter.
absl::StatusOr<DebeziumFile> OnlyOutbox(std::vector<NamedConnector> connectors) {
  if (connectors.empty()) {
    return NotAConnector("the file contains no KafkaConnector resource");
  }
  if (connectors.size() > 1) {
    std::erase_if(connectors, [](const NamedConnector& each) { return !RoutesEvents(each); });
  }
  if (connectors.empty()) {
    return NotAConnector("the file contains several connectors, none of them with an EventRouter");
  }
  if (connectors.size() > 1) {
    // The operator must decide which of them to import.
    std::string names;
    for (const NamedConnector& each : connectors) {
      names += (names.empty() ? "" : ", ") + Printable(each.name, 80);
    }
    return Error(ErrorCode::kConnectorRefused,
                 fmt::format("the file contains several outbox connectors: {}", names),
                 "Export one of them: kubectl get kafkaconnector NAME -o yaml, or curl "
                 "CONNECT/connectors/NAME.");
  }
  return std::move(connectors.front().file);
}

// Collects the connectors among `nodes` and in their lists (kind: List, as kubectl get returns
// several resources).
absl::Status CollectResources(const std::vector<PropertyNode>& nodes,
                              std::vector<NamedConnector>& out) {
  for (const PropertyNode& node : nodes) {
    if (IsConnectorResource(node)) {
      const PropertyNode* metadata = node.Find("metadata");
      WR_ASSIGN_OR_RETURN(DebeziumFile file, FromResource(node));
      out.push_back({metadata == nullptr ? "" : TextOf(*metadata, "name"), std::move(file)});
    } else if (TextOf(node, "kind").ends_with("List") && node.Find("items") != nullptr) {
      WR_RETURN_IF_ERROR(CollectResources(node.Find("items")->items, out));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DebeziumFile> FromResources(const std::vector<PropertyNode>& nodes) {
  std::vector<NamedConnector> connectors;
  WR_RETURN_IF_ERROR(CollectResources(nodes, connectors));
  return OnlyOutbox(std::move(connectors));
}

// The text at a path of members; "" if there is none.
std::string TextAt(const PropertyNode& root, std::initializer_list<std::string_view> path) {
  const PropertyNode* node = &root;
  for (const std::string_view name : path) {
    node = node->Find(name);
    if (node == nullptr) {
      return "";
    }
  }
  return node->text;
}

// As aws kafkaconnect describe-connector returns it: how the producer connects stands beside the
// configuration.
absl::StatusOr<DebeziumFile> FromMskConnect(const PropertyNode& root) {
  DebeziumFile out{.form = "a connector of MSK Connect"};
  WR_RETURN_IF_ERROR(AddProperties(*root.Find("connectorConfiguration"), out));
  const auto add = [&](std::string_view name, std::string value, std::string_view shown) {
    out.properties.push_back({.name = fmt::format("producer.override.{}", name),
                              .value = std::move(value),
                              .shown = std::string(shown)});
  };
  const bool iam =
      TextAt(root, {"kafkaClusterClientAuthentication", "authenticationType"}) == "IAM";
  const bool tls = TextAt(root, {"kafkaClusterEncryptionInTransit", "encryptionType"}) == "TLS";
  if (const std::string brokers =
          TextAt(root, {"kafkaCluster", "apacheKafkaCluster", "bootstrapServers"});
      !brokers.empty()) {
    add("bootstrap.servers", brokers, "kafkaCluster.bootstrapServers");
  }
  if (tls || iam) {
    add("security.protocol", iam ? "SASL_SSL" : "SSL", "kafkaClusterEncryptionInTransit");
  }
  if (iam) {
    add("sasl.mechanism", "AWS_MSK_IAM", "kafkaClusterClientAuthentication");
  }
  return out;
}

// As returned by GET /connectors/NAME, or only its "config".
absl::StatusOr<DebeziumFile> FromConnect(const PropertyNode& root) {
  const PropertyNode* config = root.Find("config");
  DebeziumFile out{.form = IsMap(config) ? "a connector with name and config"
                                         : "a connector's properties in JSON"};
  const PropertyNode& properties = IsMap(config) ? *config : root;
  if (IsMap(config)) {
    // Connect returns name, type and tasks beside the configuration.
    const PropertyNode* name = root.Find("name");
    if (name != nullptr && properties.Find("name") == nullptr) {
      WR_RETURN_IF_ERROR(AddProperty("name", *name, out));
    }
  }
  WR_RETURN_IF_ERROR(AddProperties(properties, out));
  return out;
}

// As returned by GET /connectors?expand=info: {"NAME": {"info": {"name", "config"}}}.
bool IsExpandedList(const PropertyNode& root) {
  return !root.items.empty() &&
         std::all_of(root.items.begin(), root.items.end(), [](const PropertyNode& connector) {
           return IsMap(&connector) && IsMap(connector.Find("info")) &&
                  IsMap(connector.Find("info")->Find("config"));
         });
}

absl::StatusOr<DebeziumFile> FromExpandedList(const PropertyNode& root) {
  std::vector<NamedConnector> connectors;
  for (size_t i = 0; i < root.items.size(); ++i) {
    WR_ASSIGN_OR_RETURN(DebeziumFile file, FromConnect(*root.items[i].Find("info")));
    connectors.push_back({root.names[i], std::move(file)});
  }
  return OnlyOutbox(std::move(connectors));
}

absl::StatusOr<DebeziumFile> FromJson(PropertyNode root) {
  if (root.Find("apiVersion") != nullptr) {
    std::vector<PropertyNode> resources;
    resources.push_back(std::move(root));
    return FromResources(resources);
  }
  if (IsMap(root.Find("connectorConfiguration"))) {
    return FromMskConnect(root);
  }
  return IsExpandedList(root) ? FromExpandedList(root) : FromConnect(root);
}

// The .properties of a connector in Connect and those of Debezium Server, which have a prefix.
absl::StatusOr<DebeziumFile> FromProperties(std::string_view text) {
  WR_ASSIGN_OR_RETURN(const JavaProperties properties, ParseJavaProperties(text));
  if (IsServerProperties(properties)) {
    return FromServerProperties(properties, "Debezium Server's application.properties");
  }
  DebeziumFile out{.form = "a connector's .properties"};
  for (const auto& [name, value] : properties) {
    out.properties.push_back(
        {.name = name, .value = value, .shown = name, .external = AsksProvider(value)});
  }
  return out;
}

}  // namespace

// A colon before the brace distinguishes a provider from a group of a regular expression's
// replacement, "${routedByValue}".
bool AsksProvider(std::string_view value) {
  const size_t open = value.find("${");
  const std::string_view inside = value.substr(std::min(open, value.size()));
  return inside.find(':') < inside.find('}');
}

bool IsDebeziumFile(std::string_view text) {
  return IsJson(text) || IsResource(text) || IsProperties(text) || IsServerEnvironment(text);
}

absl::StatusOr<DebeziumFile> ReadDebeziumFile(std::string_view text) {
  if (IsJson(text)) {
    WR_ASSIGN_OR_RETURN(PropertyNode root, ParseJson(text));
    return FromJson(std::move(root));
  }
  if (IsResource(text)) {
    WR_ASSIGN_OR_RETURN(const PropertyNode documents, ParseYaml(text));
    return FromResources(documents.items);
  }
  if (IsServerEnvironment(text)) {
    return FromServerProperties(ParseEnvironment(text), "Debezium Server's environment variables");
  }
  if (IsProperties(text)) {
    return FromProperties(text);
  }
  return NotAConnector("not the configuration of a Debezium connector");
}

}  // namespace walrelay

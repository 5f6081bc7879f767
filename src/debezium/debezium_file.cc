#include "debezium/debezium_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "debezium/java_properties.h"
#include "debezium/property_tree.h"
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

// "${NAME}": Debezium Server reads the value from its environment; "$${NAME}" is text.
bool AsksEnvironment(std::string_view value) {
  const size_t open = value.find("${");
  return open != std::string_view::npos && (open == 0 || value[open - 1] != '$');
}

// A list or a map as a value is no property of Connect.
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

bool IsConnectorResource(const PropertyNode& node) {
  const PropertyNode* kind = node.Find("kind");
  return kind != nullptr && kind->text == "KafkaConnector" && IsMap(node.Find("spec"));
}

// spec: class, tasksMax, config and Strimzi's own settings.
// Settings of the resource itself are reported too, each with its own outcome.
absl::StatusOr<DebeziumFile> FromResource(const PropertyNode& resource) {
  DebeziumFile out{.form = "a KafkaConnector resource"};
  const PropertyNode& spec = *resource.Find("spec");
  for (size_t i = 0; i < spec.names.size(); ++i) {
    const std::string& name = spec.names[i];
    const PropertyNode& value = spec.items[i];
    if (name == "config" && IsMap(&value)) {
      WR_RETURN_IF_ERROR(AddProperties(value, out));
    } else {
      const std::string property = name == "class"      ? "connector.class"
                                   : name == "tasksMax" ? "tasks.max"
                                                        : "spec." + name;
      out.properties.push_back({.name = property, .value = value.text, .shown = "spec." + name});
    }
  }
  return out;
}

// As returned by GET /connectors/NAME, or only its "config".
absl::StatusOr<DebeziumFile> FromJson(const PropertyNode& root) {
  if (IsConnectorResource(root)) {
    return FromResource(root);
  }
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

// The only document that is a connector.
absl::StatusOr<DebeziumFile> FromYaml(const PropertyNode& documents) {
  const PropertyNode* found = nullptr;
  for (const PropertyNode& document : documents.items) {
    if (IsConnectorResource(document)) {
      // Which of them to import is the operator's decision.
      if (found != nullptr) {
        return NotAConnector("the file contains several KafkaConnector resources");
      }
      found = &document;
    }
  }
  return found == nullptr ? NotAConnector("the file contains no KafkaConnector resource")
                          : FromResource(*found);
}

// Debezium Server uses the same options under other names; they are translated once, under
// Connect's.
struct Rename {
  std::string_view from;
  std::string_view to;
};

// Prefixes of Debezium Server's properties; the first match applies.
constexpr Rename kServerNames[] = {
    {"debezium.source.", ""},
    {"debezium.transforms", "transforms"},
    {"debezium.predicates", "predicates"},
    {"debezium.sink.kafka.producer.", "producer.override."},
    {"debezium.format.key", "key.converter"},
    {"debezium.format.value", "value.converter"},
    {"debezium.format.header", "header.converter"},
    // After the three above, whose names it is a prefix of. The last two have no counterpart in
    // Connect: their names stay recognizable in the report.
    {"debezium.format.", "format."},
    {"debezium.sink.", "sink."},
};

// The converters for Debezium Server's format names; other names are kept.
constexpr Rename kServerFormats[] = {
    {"json", "org.apache.kafka.connect.json.JsonConverter"},
    {"jsonbytearray", "org.apache.kafka.connect.json.JsonConverter"},
    {"simplestring", "org.apache.kafka.connect.storage.StringConverter"},
    {"binary", "io.debezium.converters.BinaryDataConverter"},
};

std::string ServerFormat(const std::string& format) {
  for (const Rename& known : kServerFormats) {
    if (known.from == format) {
      return std::string(known.to);
    }
  }
  return format;
}

// Debezium Server uses "$$" for "$", because it expands "${…}".
// In the result each "$" begins a group of route.topic, as in Connect.
std::string WithoutDoubledDollars(std::string text) {
  for (size_t at = text.find("$$"); at != std::string::npos; at = text.find("$$", at + 1)) {
    text.erase(at, 1);
  }
  return text;
}

// Also for values that the environment supplies: `external` says that the value is not the real
// one.
DebeziumProperty FromServer(const std::string& shown, const std::string& value) {
  DebeziumProperty out{.name = shown,
                       .value = WithoutDoubledDollars(value),
                       .shown = shown,
                       .external = AsksEnvironment(value)};
  for (const Rename& rename : kServerNames) {
    if (shown.starts_with(rename.from)) {
      out.name = std::string(rename.to) + shown.substr(rename.from.size());
      break;
    }
  }
  // Debezium Server names a format, Connect a class.
  if (out.name.ends_with(".converter") && shown.starts_with("debezium.format.")) {
    out.value = ServerFormat(out.value);
  } else if (out.name.ends_with(".converter.class")) {
    // The explicit class replaces the class of the format.
    out.name.resize(out.name.size() - std::string_view(".class").size());
  }
  return out;
}

// A format and its class map to one property of Connect: the class overrides the format.
void Put(DebeziumProperty property, std::vector<DebeziumProperty>& out) {
  for (DebeziumProperty& known : out) {
    if (known.name == property.name) {
      DebeziumProperty& loser = property.shown.ends_with(".class") ? known : property;
      loser.name = "overruled." + loser.name;
    }
  }
  out.push_back(std::move(property));
}

absl::StatusOr<DebeziumFile> FromProperties(std::string_view text) {
  WR_ASSIGN_OR_RETURN(const JavaProperties properties, ParseJavaProperties(text));
  DebeziumFile out{.form = "a connector's .properties"};
  // The .properties of a connector in Connect have the same form, without this prefix.
  out.is_server = std::any_of(properties.begin(), properties.end(), [](const auto& property) {
    return property.first.starts_with("debezium.source.");
  });
  if (out.is_server) {
    out.form = "Debezium Server's application.properties";
  }
  for (const auto& [name, value] : properties) {
    if (out.is_server) {
      Put(FromServer(name, value), out.properties);
    } else {
      out.properties.push_back(
          {.name = name, .value = value, .shown = name, .external = AsksProvider(value)});
    }
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
  return IsJson(text) || IsResource(text) || IsProperties(text);
}

absl::StatusOr<DebeziumFile> ReadDebeziumFile(std::string_view text) {
  if (IsJson(text)) {
    WR_ASSIGN_OR_RETURN(const PropertyNode root, ParseJson(text));
    return FromJson(root);
  }
  if (IsResource(text)) {
    WR_ASSIGN_OR_RETURN(const PropertyNode documents, ParseYaml(text));
    return FromYaml(documents);
  }
  if (IsProperties(text)) {
    return FromProperties(text);
  }
  return NotAConnector("not the configuration of a Debezium connector");
}

}  // namespace walrelay

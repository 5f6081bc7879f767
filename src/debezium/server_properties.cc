#include "debezium/server_properties.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace walrelay {
namespace {

// "${NAME}": Debezium Server reads the value from its environment; "$${NAME}" is text.
bool AsksEnvironment(std::string_view value) {
  const size_t open = value.find("${");
  return open != std::string_view::npos && (open == 0 || value[open - 1] != '$');
}

// Debezium Server's prefixes and formats, and their names in Connect.
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

// "\\$" is another way to write "$$" (SmallRye Config, ExpressionConfigSourceInterceptor).
std::string WithDoubledDollars(std::string text) {
  for (size_t at = text.find("\\$"); at != std::string::npos; at = text.find("\\$", at + 2)) {
    text[at] = '$';
  }
  return text;
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
DebeziumProperty FromServer(const std::string& shown, const std::string& text) {
  const std::string value = WithDoubledDollars(text);
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

constexpr std::string_view kVariable = "DEBEZIUM_SOURCE_";
constexpr std::string_view kBlank = " \t\r";

// The next line of `text`, without its indent and "export".
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  constexpr std::string_view kExport = "export ";
  line.remove_prefix(line.starts_with(kExport) ? kExport.size() : 0);
  return line.substr(0, line.find_last_not_of(kBlank) + 1);
}

// In the shell's quotes a value may contain blanks; Docker keeps quotes, and such a value would not
// have worked.
std::string_view WithoutQuotes(std::string_view value) {
  const bool quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

std::string PropertyOf(std::string_view variable) {
  std::string name(variable);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '.' : static_cast<char>(std::tolower(c));
  });
  return name;
}

}  // namespace

bool IsServerProperties(const JavaProperties& properties) {
  return std::any_of(properties.begin(), properties.end(), [](const auto& property) {
    return property.first.starts_with("debezium.source.");
  });
}

DebeziumFile FromServerProperties(const JavaProperties& properties, std::string form) {
  DebeziumFile out{.form = std::move(form), .is_server = true};
  for (const auto& [name, value] : properties) {
    Put(FromServer(name, value), out.properties);
  }
  return out;
}

bool IsServerEnvironment(std::string_view text) {
  while (!text.empty()) {
    if (TakeLine(text).starts_with(kVariable)) {
      return true;
    }
  }
  return false;
}

JavaProperties ParseEnvironment(std::string_view text) {
  JavaProperties out;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos && !line.starts_with('#')) {
      out.emplace_back(PropertyOf(line.substr(0, equals)), WithoutQuotes(line.substr(equals + 1)));
    }
  }
  return out;
}

}  // namespace walrelay

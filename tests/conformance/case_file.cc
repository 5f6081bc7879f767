#include "conformance/case_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <charconv>
#include <string_view>

#include "absl/strings/escaping.h"

namespace walrelay::conformance {
namespace {

using simdjson::dom::element;

// "": absent or null.
std::string TextOf(element parent, std::string_view name) {
  std::string_view text;
  return parent[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

bool FlagOf(element parent, std::string_view name) {
  bool flag = false;
  return parent[name].get(flag) == simdjson::SUCCESS && flag;
}

std::optional<int64_t> NumberOf(element parent, std::string_view name) {
  int64_t number = 0;
  return parent[name].get(number) == simdjson::SUCCESS ? std::optional(number) : std::nullopt;
}

std::string DoubleText(double number) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.begin(), text.end(), number).ptr;
  return {text.data(), static_cast<size_t>(end - text.data())};
}

std::string ArrayText(simdjson::dom::array array);

// A value as Postgres prints it.
std::optional<std::string> ValueText(element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::BOOL:
      return value.get_bool().value_unsafe() ? "t" : "f";
    case simdjson::dom::element_type::INT64:
      return fmt::format("{}", value.get_int64().value_unsafe());
    case simdjson::dom::element_type::UINT64:
      return fmt::format("{}", value.get_uint64().value_unsafe());
    case simdjson::dom::element_type::DOUBLE:
      return DoubleText(value.get_double().value_unsafe());
    case simdjson::dom::element_type::STRING:
      return std::string(value.get_string().value_unsafe());
    case simdjson::dom::element_type::ARRAY:
      return ArrayText(value.get_array().value_unsafe());
    default:
      return std::nullopt;
  }
}

std::string ArrayText(simdjson::dom::array array) {
  std::string out = "{";
  for (const element item : array) {
    out += out.size() == 1 ? "" : ",";
    const auto text = ValueText(item);
    if (!text) {
      out += "NULL";
    } else if (item.is_array()) {
      out += *text;
    } else {
      out += '"';
      for (const char c : *text) {
        out += c == '"' || c == '\\' ? "\\" : "";
        out += c;
      }
      out += '"';
    }
  }
  return out + "}";
}

DebeziumOptions OptionsOf(element parent, std::string_view name) {
  DebeziumOptions out;
  simdjson::dom::object object;
  if (parent[name].get(object) == simdjson::SUCCESS) {
    for (const auto& [option, value] : object) {
      std::string text = ValueText(value).value_or("");
      out[std::string(option)] = value.is_bool() ? (text == "t" ? "true" : "false") : text;
    }
  }
  return out;
}

Expected ExpectedOf(element converted) {
  Expected out;
  std::string_view text;
  if (converted["utf8"].get(text) == simdjson::SUCCESS) {
    out.bytes = std::string(text);
  } else if (converted["hex"].get(text) == simdjson::SUCCESS) {
// Abseil in Debian 13 deprecates the only form that Abseil in Debian 12 has.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    out.bytes = absl::HexStringToBytes({text.data(), text.size()});
#pragma GCC diagnostic pop
  } else {
    out.fails = !FlagOf(converted, "null");
  }
  return out;
}

std::map<std::string, Expected> ConvertedOf(element expect, std::string_view part) {
  std::map<std::string, Expected> out;
  simdjson::dom::object object;
  if (expect[part].get(object) == simdjson::SUCCESS) {
    for (const auto& [converter, converted] : object) {
      out[std::string(converter)] = ExpectedOf(converted);
    }
  }
  return out;
}

void ReadColumns(element from, Case& out) {
  simdjson::dom::array columns;
  if (from["columns"].get(columns) != simdjson::SUCCESS) {
    return;
  }
  for (const element column : columns) {
    CaseColumn& added = out.columns.emplace_back();
    added.name = TextOf(column, "name");
    added.pg_type = TextOf(column, "pg_type");
    added.nullable = FlagOf(column, "nullable");
    added.default_expression = TextOf(column, "sql_default");
    element value;
    if (column["value"].get(value) == simdjson::SUCCESS) {
      added.value = ValueText(value);
    }
  }
}

void ReadExpectation(element expect, Case& out) {
  out.outcome = TextOf(expect, "outcome");
  out.worker_fails = TextOf(expect, "worker_outcome").starts_with("error");
  out.topic = TextOf(expect, "topic");
  if (const auto partition = NumberOf(expect, "partition")) {
    out.partition = static_cast<int32_t>(*partition);
  }
  out.timestamp_ms = NumberOf(expect, "timestamp_ms");
  out.key = ConvertedOf(expect, "key");
  out.value = ConvertedOf(expect, "value");
  simdjson::dom::array headers;
  if (expect["headers"].get(headers) == simdjson::SUCCESS) {
    for (const element header : headers) {
      element converted;
      if (header["SimpleHeaderConverter"].get(converted) == simdjson::SUCCESS) {
        out.headers.emplace_back(TextOf(header, "name"), ExpectedOf(converted).bytes);
      }
    }
  }
}

Case ReadCase(element from) {
  Case out;
  out.id = TextOf(from, "id");
  out.op = TextOf(from, "op");
  out.router = OptionsOf(from, "config");
  out.connector = OptionsOf(from, "connector_config");
  out.nondeterministic = FlagOf(from, "nondeterministic");
  element part;
  if (from["sequence"].get(part) == simdjson::SUCCESS) {
    out.group = TextOf(part, "group");
  }
  if (from["message"].get(part) == simdjson::SUCCESS) {
    out.message_prefix = TextOf(part, "prefix");
    out.message_content = TextOf(part, "content");
    element transactional;
    out.message_is_transactional = part["transactional"].get(transactional) != simdjson::SUCCESS ||
                                   FlagOf(part, "transactional");
  }
  if (from["preceding_smt"].get(part) == simdjson::SUCCESS &&
      TextOf(part, "type").ends_with(".DecodeLogicalDecodingMessageContent")) {
    out.message_decoder = OptionsOf(part, "config");
  }
  simdjson::dom::array alternatives;
  if (from["alternatives_json_schemas_false"].get(alternatives) == simdjson::SUCCESS) {
    for (const element text : alternatives) {
      out.alternatives.push_back(ValueText(text).value_or(""));
    }
  }
  ReadColumns(from, out);
  if (from["expect"].get(part) == simdjson::SUCCESS) {
    ReadExpectation(part, out);
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Case>> ReadCases(const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::array cases;
  const auto error = parser.load(path).get(cases);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, simdjson::error_message(error)));
  }
  std::vector<Case> out;
  for (const element one : cases) {
    out.push_back(ReadCase(one));
  }
  return out;
}

}  // namespace walrelay::conformance

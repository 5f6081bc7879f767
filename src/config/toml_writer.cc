#include "config/toml_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "config/value_text.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

std::string TomlString(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);  // TOML has JSON's escapes
  return out;
}

std::string ToToml(const std::string& value) {
  return TomlString(value);
}
std::string ToToml(const ColumnNames& value) {
  return value.all().size() > 1 ? ToToml(value.all()) : TomlString(value.preferred());
}
std::string ToToml(const std::optional<ColumnNames>& value) {
  return value ? ToToml(*value) : "auto";
}
// Masked in every output: only the import writes secrets, and it passes their text.
std::string ToToml(const Secret& value) {
  return value.empty() ? "\"\"" : "\"***\"";
}
std::string ToToml(bool value) {
  return value ? "true" : "false";
}
std::string ToToml(int64_t value) {
  return fmt::format("{}", value);
}
std::string ToToml(Micros value) {
  return TomlString(FormatConfigDuration(value));
}
std::string ToToml(const std::vector<std::string>& value) {
  std::vector<std::string> quoted;
  std::transform(value.begin(), value.end(), std::back_inserter(quoted), TomlString);
  return TomlArray(quoted);
}
std::string ToToml(const RawValue& value) {
  return std::visit([](const auto& alternative) { return ToToml(alternative); }, value);
}

std::string TomlArray(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string TomlInlineTable(const std::vector<std::pair<std::string_view, std::string>>& members) {
  std::vector<std::string> assignments;
  for (const auto& [key, value] : members) {
    assignments.push_back(fmt::format("{} = {}", key, value));
  }
  return fmt::format("{{ {} }}", fmt::join(assignments, ", "));
}

// Repeating a header would be an error in TOML.
void TomlWriter::Table(std::string_view name) {
  if (name != table_) {
    Header(fmt::format("[{}]", name));
    table_ = name;
  }
}

// Every element of an array of tables needs its own header.
void TomlWriter::Element(std::string_view name) {
  Header(fmt::format("[[{}]]", name));
  table_ = name;
}

void TomlWriter::Header(std::string_view header) {
  out_ += fmt::format("{}{}\n", out_.empty() ? "" : "\n", header);
}

void TomlWriter::Set(std::string_view key, std::string_view value, std::string_view comment) {
  out_ += fmt::format("{} = {}{}{}\n", key, value, comment.empty() ? "" : "  # ", comment);
}

// For a value that TOML cannot express, or that the operator has to supply.
void TomlWriter::SetInComment(std::string_view key, std::string_view value,
                              std::string_view comment) {
  out_ += "# ";
  Set(key, value, comment);
}

void TomlWriter::Comment(std::string_view text) {
  out_ += fmt::format("#{}{}\n", text.empty() ? "" : " ", text);
}

std::vector<std::pair<std::string_view, std::string>> TransformMembers(
    const ColumnTransform& transform) {
  using Kind = ColumnTransform::Kind;
  std::vector<std::pair<std::string_view, std::string>> members = {
      {"column", ToToml(transform.column)}, {"apply", ToToml(transform.kind)}};
  if (transform.kind == Kind::kHash || transform.kind == Kind::kHashSerialized) {
    members.emplace_back("algorithm", ToToml(transform.algorithm));
    members.emplace_back("salt", ToToml(transform.salt));
  } else {
    members.emplace_back("length", ToToml(transform.length));
  }
  return members;
}

void WriteTopicRules(const std::vector<TopicRule>& rules, TomlWriter& out) {
  for (const TopicRule& rule : rules) {
    out.Element("kafka.topics.rules");
    out.Set("match", TomlString(rule.match));
    if (rule.partitions > 0) {
      out.Set("partitions", ToToml(rule.partitions));
    }
    if (rule.replication_factor > 0) {
      out.Set("replication_factor", ToToml(rule.replication_factor));
    }
    if (!rule.config.empty()) {
      std::vector<std::string> settings;
      for (const auto& [name, value] : rule.config) {
        settings.push_back(fmt::format("{} = {}", TomlString(name), TomlString(value)));
      }
      out.Set("config", fmt::format("{{ {} }}", fmt::join(settings, ", ")));
    }
  }
}

}  // namespace walrelay

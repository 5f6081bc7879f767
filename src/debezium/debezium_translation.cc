#include "debezium/debezium_translation.h"

#include <algorithm>
#include <cctype>

#include "config/assignment.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

std::string ValueOr(const DebeziumOptions& options, std::string_view name,
                    std::string_view otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? std::string(otherwise) : found->second;
}

PropertyResult Translated(std::string setting, std::string note) {
  return {PropertyOutcome::kTranslated, std::move(setting), std::move(note)};
}

PropertyResult Equivalent(std::string note) {
  return {PropertyOutcome::kEquivalent, "", std::move(note)};
}

PropertyResult Meaningless(std::string_view note) {
  return {PropertyOutcome::kMeaningless, "", std::string(note)};
}

PropertyResult Refused(std::string note, std::string setting) {
  return {PropertyOutcome::kRefused, std::move(setting), std::move(note)};
}

PropertyResult DebeziumTranslation::Set(const std::string& setting, std::string value,
                                        std::string note) {
  settings[setting] = std::move(value);
  return Translated(setting, std::move(note));
}

PropertyResult DebeziumTranslation::Want(const std::string& setting) {
  required.push_back(setting);
  return Translated(setting, "you must supply this: the file refers to a config provider");
}

// Through the same function as variables and flags: a translated value is validated like any other.
absl::Status ApplyTranslation(const DebeziumTranslation& translation, Config& config) {
  for (const auto& [name, text] : translation.settings) {
    WR_RETURN_IF_ERROR(SetFromText(name, text, config));
  }
  // The settings above have written the first table. With several, each starts as a copy of it.
  std::vector<OutboxTable>& tables = config.source.tables;
  tables.front().placements = translation.placements;
  tables.front().transforms = translation.transforms;
  config.kafka.topics.rules = translation.topic_rules;
  if (!translation.tables.empty()) {
    const OutboxTable common = tables.front();
    std::vector<OutboxTable> named;
    for (const std::string& name : translation.tables) {
      tables.front() = common;
      WR_RETURN_IF_ERROR(SetFromText("source.table", name, config));
      named.push_back(tables.front());
    }
    tables = std::move(named);
  }
  return absl::OkStatus();
}

// String.trim() removes every character up to U+0020, control characters included.
std::string JavaTrim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) {
    text.remove_prefix(1);
  }
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

// For enumerated values, which are ASCII.
std::string JavaLower(std::string_view text) {
  std::string out = JavaTrim(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// String.split() drops empty strings at the end, but not at the beginning or between separators. A
// text without separator is one part, also if it is empty.
std::vector<std::string> JavaSplit(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  while (parts.size() > 1 && parts.back().empty()) {
    parts.pop_back();
  }
  return parts;
}

// Backslash escapes a character; any other special character makes it a pattern.
std::string LiteralOf(std::string_view regex) {
  std::string name;
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      name += regex[++i];
    } else if (std::string_view("\\*+?[](){}|^$").find(c) != std::string_view::npos) {
      return "";
    } else {
      name += c;
    }
  }
  return name;
}

}  // namespace walrelay

// Writes TOML: the output of `walrelay config show` and of the import of a connector.
//
// Pure. The values are not validated: FileReader reads the result, and the loader validates it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/choices.h"
#include "config/option_value.h"
#include "walrelay/clock.h"
#include "walrelay/config/column_names.h"
#include "walrelay/config/kafka.h"
#include "walrelay/secret.h"

namespace walrelay {

struct ColumnTransform;

// A basic string, quotes included.
// Escapes as JSON does, whose escapes TOML accepts in basic strings (TOML v1.0.0, "String").
std::string TomlString(std::string_view text);

// A value as TOML. A secret becomes "***"; absent names become `auto`, which is not TOML.
// An empty Secret becomes "", so that it is visible whether one is set. A duration and an integer
// have the form that the loader reads.
std::string ToToml(const std::string& value);
std::string ToToml(const ColumnNames& value);
std::string ToToml(const std::optional<ColumnNames>& value);
std::string ToToml(const Secret& value);
std::string ToToml(bool value);
std::string ToToml(int64_t value);
std::string ToToml(Micros value);
std::string ToToml(const std::vector<std::string>& value);
std::string ToToml(const RawValue& value);

template <typename Enum>
requires std::is_enum_v<Enum> std::string ToToml(Enum value) {
  return TomlString(NameOfChoice(value));
}

// "[a, b]". The items are TOML.
std::string TomlArray(const std::vector<std::string>& items);

// "{ a = 1, b = 2 }". The values are TOML.
std::string TomlInlineTable(const std::vector<std::pair<std::string_view, std::string>>& members);

// Builds a file. A key is a bare key or a TomlString(); a value is TOML; a comment may be empty.
// Not thread-safe. Views are copied.
class TomlWriter {
 public:
  // "[name]", unless this table is the current one.
  void Table(std::string_view name);
  // "[[name]]": one more element of the array.
  void Element(std::string_view name);

  // In the current table; before the first Table() or Element(), at the top level.
  void Set(std::string_view key, std::string_view value, std::string_view comment = "");
  // The same line as a comment: the value is a default, or must be supplied.
  void SetInComment(std::string_view key, std::string_view value, std::string_view comment = "");
  void Comment(std::string_view text);

  // The file, with a line end after each line. The writer is empty afterwards.
  std::string Finish() && { return std::move(out_); }

 private:
  void Header(std::string_view header);

  std::string out_;
  std::string table_;  // the current one
};

// The keys of one element of [[source.transform]], in order, with their values as TOML. The salt is
// "***".
std::vector<std::pair<std::string_view, std::string>> TransformMembers(
    const ColumnTransform& transform);

// "[[kafka.topics.rules]]" for each rule. Omits what is left to the brokers.
void WriteTopicRules(const std::vector<TopicRule>& rules, TomlWriter& out);

}  // namespace walrelay

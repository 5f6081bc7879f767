#include "config/file_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/assignment.h"
#include "config/file_problems.h"
#include "config/former_option.h"
#include "config/placement_reader.h"
#include "config/suggestion.h"
#include "config/toml_library.h"
#include "config/toml_syntax.h"
#include "config/toml_value.h"
#include "config/topic_rule_reader.h"
#include "config/transform_reader.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kColumns = "source.columns";
// Tables that are not options and have their own readers.
constexpr std::string_view kTables = "source.tables";
constexpr std::string_view kPlacement = "source.placement";
constexpr std::string_view kTransform = "source.transform";
constexpr std::string_view kPassThrough = "kafka.librdkafka";
constexpr std::string_view kTopics = "kafka.topics";
constexpr std::string_view kTopicRules = "kafka.topics.rules";

// In the words of the configuration's documentation.
std::string ExpectedValue(const Option& option) {
  switch (option.type) {
    case OptionType::kBoolean:
      return "true or false";
    case OptionType::kInteger:
      return "a whole number";
    case OptionType::kChoice:
      return fmt::format("one of {}", fmt::join(option.choices, ", "));
    default:
      return fmt::format("a {}", TypeName(option.type));
  }
}

template <typename T>
void Append(std::vector<T> added, std::vector<T>& out) {
  std::move(added.begin(), added.end(), std::back_inserter(out));
}

class FileReader {
 public:
  FileReader(const ConfigInput& input, LoadedConfig& out)
      : problems_(input.file_name, out.problems), out_(out) {}

  void Read(const toml::table& root) {
    CheckTable(root);
    ReadSections(root);
    // After the sections: tables inherit from [source.columns],
    // [[source.placement]] and [[source.transform]].
    if (const toml::node* tables = root.at_path(std::string(kTables)).node()) {
      ReadTables(*tables);
    }
  }

 private:
  // C libraries end a string at a zero byte: they would use another value than the file contains.
  void CheckText(std::string_view text, const toml::source_region& region) {
    if (text.find('\0') != std::string_view::npos) {
      problems_.Invalid(region, "a string must not contain a zero byte");
    }
  }

  void CheckNode(const toml::node& node) {
    if (const auto* table = node.as_table()) {
      CheckTable(*table);
    }
    if (const auto* array = node.as_array()) {
      for (const toml::node& element : *array) {
        CheckNode(element);
      }
    }
    if (const auto* text = node.as_string()) {
      CheckText(text->get(), node.source());
    }
  }

  void CheckTable(const toml::table& table) {
    for (auto&& [key, node] : table) {
      CheckText(key.str(), key.source());
      CheckNode(node);
    }
  }

  void ReadSections(const toml::table& root) {
    for (auto&& [key, node] : root) {
      if (key.str() == "config_version") {
        if (node.value<int64_t>() != 1) {
          problems_.Invalid(node.source(), "unknown config_version; expected 1");
        }
      } else if (!IsSection(key.str())) {
        UnknownAtTop(key, node);
      } else if (problems_.CheckIsTable(node, key.str())) {
        ReadSection(std::string(key.str()), *node.as_table());
      }
    }
  }

  // A key whose section was left out is told from a misspelt section by its value.
  void UnknownAtTop(const toml::key& key, const toml::node& node) {
    const Option* option = node.is_table() ? nullptr : NearestOption(key.str());
    if (option == nullptr) {
      problems_.Unknown(key, node.is_table() ? "section" : "key outside of a section",
                        SectionNames());
      return;
    }
    problems_.Add(
        key.source(), option->Name(),
        Error(ErrorCode::kConfigUnknownKey,
              fmt::format("unknown key outside of a section \"{}\"; did you mean \"{}\" in [{}]?",
                          Printable(key.str(), 80), option->key, option->section)));
  }

  // Tables inside a section are parts of it, or have their own readers; everything else is an
  // option.
  void ReadSection(const std::string& section, const toml::table& table) {
    for (auto&& [key, node] : table) {
      const std::string full = fmt::format("{}.{}", section, key.str());
      if (HasOptions(full)) {
        if (problems_.CheckIsTable(node, full)) {
          ReadSection(full, *node.as_table());
        }
      } else if (full == kPassThrough) {
        if (problems_.CheckIsTable(node, full)) {
          ReadPassThrough(*node.as_table());
        }
      } else if (full == kTopicRules) {
        out_.origins[full] = problems_.At(key.source());
        Append(ReadTopicRules(node, problems_), out_.config.kafka.topics.rules);
      } else if (full == kPlacement) {
        out_.origins[full] = problems_.At(key.source());
        Append(ReadPlacements(node, problems_), first_table().placements);
      } else if (full == kTransform) {
        out_.origins[full] = problems_.At(key.source());
        Append(ReadTransforms(node, problems_), first_table().transforms);
      } else if (full != kTables) {
        ReadOption(section, key, node);
      }
    }
  }

  // The table that the setters write to.
  OutboxTable& first_table() { return out_.config.source.tables.front(); }

  // Reads the columns of one of several tables.
  void ReadColumns(const toml::node& node) {
    if (problems_.CheckIsTable(node, kColumns)) {
      ReadSection(std::string(kColumns), *node.as_table());
    }
  }

  void ReadOption(const std::string& section, const toml::key& key, const toml::node& node) {
    const Option* option = FindOption(section, key.str());
    if (option == nullptr) {
      const auto* text = node.as_string();
      UnknownKey(section, key, text != nullptr ? std::string_view(text->get()) : "");
      return;
    }
    const std::string name = option->Name();
    out_.origins[name] = problems_.At(node.source());
    const auto value = ToRaw(node);
    const absl::Status status =
        value ? ApplyOption(*option, *value, out_.config)
              : InvalidValue(fmt::format("{}: expected {}, got {}", name, ExpectedValue(*option),
                                         KindOf(node)));
    if (!status.ok()) {
      problems_.Add(node.source(), name, status);
    }
  }

  // `value`: "" if it is not text.
  void UnknownKey(const std::string& section, const toml::key& key, std::string_view value) {
    const std::string full = fmt::format("{}.{}", section, key.str());
    if (const FormerOption* former = FindFormerOption(full, value)) {
      problems_.Add(key.source(), former->option, FormerOptionError(*former));
      return;
    }
    const auto known = KeysOf(section);
    const std::string_view nearest = NearestName(key.str(), known);
    const Option* elsewhere = nearest.empty() ? NearestOption(full) : nullptr;
    if (elsewhere == nullptr || elsewhere->section == section) {
      problems_.Unknown(key, fmt::format("key in [{}]:", section), known,
                        nearest.empty() ? "" : fmt::format("{}.{}", section, nearest));
      return;
    }
    problems_.Add(
        key.source(), elsewhere->Name(),
        Error(ErrorCode::kConfigUnknownKey,
              fmt::format("unknown key in [{}]: \"{}\"; did you mean \"{}\" in [{}]?", section,
                          Printable(key.str(), 80), elsewhere->key, elsewhere->section)));
  }

  // Numbers and booleans are accepted, because librdkafka's documentation writes them without
  // quotes.
  void ReadPassThrough(const toml::table& table) {
    for (auto&& [key, node] : table) {
      if (const auto value = ReadScalar(key, node, problems_)) {
        out_.origins[fmt::format("{}{}", kPassThroughPrefix, key.str())] =
            problems_.At(node.source());
        SetPassThrough(key.str(), *value, out_.config);
      }
    }
  }

  // [[source.tables]]: name, columns, placement, transform. Each starts with the common columns,
  // placements and transforms.
  void ReadTables(const toml::node& node) {
    const std::vector<const toml::table*> elements = problems_.ElementsOf(node, kTables);
    if (elements.empty()) {
      return;
    }
    // One of the two would silently have no effect.
    if (out_.origins.contains("source.table")) {
      problems_.Invalid(node.source(), "set either source.table or [[source.tables]], not both");
      return;
    }
    const OutboxTable common = out_.config.source.tables.front();
    std::vector<OutboxTable> tables;
    for (const toml::table* element : elements) {
      out_.config.source.tables = {common};
      const size_t errors = problems_.count();
      const std::string option = fmt::format("{}[{}]", kTables, tables.size());
      out_.origins[option] = problems_.At(element->source());
      ReadTable(*element, option);
      // Further errors of a table without its name would follow from the first.
      if (problems_.count() == errors) {
        tables.push_back(std::move(first_table()));
      }
    }
    out_.config.source.tables = tables.empty() ? std::vector{common} : std::move(tables);
  }

  // A table may be named once only; "name" has the form of source.table.
  void ReadTable(const toml::table& table, const std::string& option) {
    const size_t errors = problems_.count();
    for (auto&& [key, node] : table) {
      if (key.str() == "name") {
        ReadTableName(node, option);
      } else if (key.str() == "columns") {
        ReadColumns(node);
      } else if (key.str() == "placement") {
        Append(ReadPlacements(node, problems_), first_table().placements);
      } else if (key.str() == "transform") {
        Append(ReadTransforms(node, problems_), first_table().transforms);
      } else {
        problems_.Unknown(key, "key of a table", {"name", "columns", "placement", "transform"},
                          option);
      }
    }
    if (!table.contains("name") && problems_.count() == errors) {
      problems_.Add(table.source(), option, InvalidValue("source.tables: a table requires a name"));
    }
  }

  void ReadTableName(const toml::node& node, const std::string& option) {
    const auto* name = node.as_string();
    const absl::Status status =
        name == nullptr || name->get().empty()
            ? InvalidValue(
                  "source.tables.name: expected the name of a table, such as "
                  "\"public.outbox\"")
            : ApplyOption(*FindOption("source", "table"), RawValue(name->get()), out_.config);
    if (!status.ok()) {
      problems_.Add(node.source(), option, status);
    }
  }

  // The sections in the order of the table of options, for messages.
  static std::vector<std::string_view> SectionNames() {
    std::vector<std::string_view> names;
    for (const Option& option : Options()) {
      if (option.section.find('.') == std::string_view::npos &&
          (names.empty() || names.back() != option.section)) {
        names.push_back(option.section);
      }
    }
    return names;
  }

  static bool IsSection(std::string_view name) {
    const auto names = SectionNames();
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // True also for a part of a section: "source.columns".
  static bool HasOptions(std::string_view section) {
    return std::any_of(Options().begin(), Options().end(),
                       [&](const Option& option) { return option.section == section; });
  }

  static std::vector<std::string_view> KeysOf(std::string_view section) {
    std::vector<std::string_view> keys;
    if (section == "source") {
      keys = {"placement", "transform", "tables"};
    } else if (section == "kafka") {
      keys = {"librdkafka"};
    } else if (section == kTopics) {
      keys = {"rules"};
    }
    const std::string part_prefix = fmt::format("{}.", section);
    for (const Option& option : Options()) {
      if (option.section == section) {
        keys.push_back(option.key);
      } else if (option.section.starts_with(part_prefix) &&
                 !option.section.ends_with(keys.back())) {
        keys.push_back(option.section.substr(part_prefix.size()));
      }
    }
    return keys;
  }

  FileProblems problems_;
  LoadedConfig& out_;
};

}  // namespace

// The parser reports syntax errors with positions; what the values mean is checked afterwards.
absl::Status ReadConfigFile(const ConfigInput& input, LoadedConfig& out) {
  if (HasEndlessKey(input.file_text)) {
    return Error(ErrorCode::kConfigSyntax,
                 fmt::format("{}: a key has more than {} parts", input.file_name, kMaxKeyParts));
  }
  const toml::parse_result parsed = toml::parse(input.file_text, input.file_name);
  if (!parsed) {
    const toml::source_position& at = parsed.error().source().begin;
    return Error(ErrorCode::kConfigSyntax,
                 fmt::format("{}:{}:{}: {}", input.file_name, at.line, at.column,
                             SyntaxMessage(input.file_text, at.line, at.column,
                                           parsed.error().description())));
  }
  FileReader(input, out).Read(parsed.table());
  return absl::OkStatus();
}

}  // namespace walrelay

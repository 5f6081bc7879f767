#include "debezium/debezium_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "config/option.h"
#include "config/toml_writer.h"
#include "debezium/debezium_import.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

struct BinTitle {
  PropertyOutcome outcome;
  std::string_view title;
};

// In the order of the report: what is refused comes last, next to the prompt of the terminal.
constexpr BinTitle kBins[] = {
    {PropertyOutcome::kTranslated, "translated"},
    {PropertyOutcome::kEquivalent, "checked, same behaviour"},
    {PropertyOutcome::kMeaningless, "not applicable"},
    {PropertyOutcome::kRefused, "REFUSED"},
};

// The widest column of names, in characters. Longer names are rare, and push their own line only.
constexpr size_t kWidest = 52;

// A size without a unit is a number.
std::string ValueOf(const Option& option, const std::string& text) {
  const bool number =
      option.type == OptionType::kSize && text.find_first_not_of("0123456789") == std::string::npos;
  const auto value = FromText(number ? OptionType::kInteger : option.type, text);
  return value.ok() ? ToToml(*value) : TomlString(text);
}

// Writes the translation of a connector. Several tables, the placements, the transforms and the
// rules for topics are at the end.
class ImportWriter {
 public:
  ImportWriter(const DebeziumImport& import, bool with_secrets)
      : translation_(import.translation), with_secrets_(with_secrets) {
    out_.Comment(fmt::format("From {}, by walrelay import debezium.", import.form));
  }

  std::string Write() && {
    for (const Option& option : Options()) {
      WriteOption(option);
    }
    WritePassThrough();
    WritePlacements();
    WriteTransforms();
    WriteTables();
    WriteTopicRules(translation_.topic_rules, out_);
    return std::move(out_).Finish();
  }

 private:
  void WriteOption(const Option& option) {
    const auto found = translation_.settings.find(option.Name());
    const bool required = std::find(translation_.required.begin(), translation_.required.end(),
                                    option.Name()) != translation_.required.end();
    if (found != translation_.settings.end() && !IsListOfTables(option)) {
      out_.Table(option.section);
      Set(option.key, ValueOf(option, found->second), option.type == OptionType::kSecret);
    } else if (required) {
      out_.Table(option.section);
      out_.SetInComment(option.key, "\"\"", "you must supply this");
    }
  }

  // source.table and [[source.tables]] exclude each other.
  bool IsListOfTables(const Option& option) const {
    return !translation_.tables.empty() && option.Name() == "source.table";
  }

  void Set(std::string_view key, std::string_view value, bool secret) {
    secret && !with_secrets_
        ? out_.SetInComment(key, "\"\"", "secret omitted: set it, or a file; -o FILE writes it")
        : out_.Set(key, value);
  }

  // After the options: [kafka.librdkafka] is a table of its own, whose properties no option lists.
  void WritePassThrough() {
    for (const auto& [name, value] : translation_.settings) {
      if (name.starts_with(kPassThroughPrefix)) {
        const std::string property = name.substr(kPassThroughPrefix.size());
        out_.Table("kafka.librdkafka");
        Set(TomlString(property), TomlString(value), IsSecretProperty(property));
      }
    }
  }

  void WritePlacements() {
    for (const Placement& placement : translation_.placements) {
      out_.Element("source.placement");
      out_.Set("column", ToToml(placement.column));
      out_.Set("to", ToToml(placement.where));
      if (placement.column != placement.name) {
        out_.Set("as", ToToml(placement.name));
      }
    }
  }

  void WriteTransforms() {
    for (const ColumnTransform& transform : translation_.transforms) {
      out_.Element("source.transform");
      for (const auto& [key, value] : TransformMembers(transform)) {
        if (key != "salt") {
          out_.Set(key, value);
        } else if (with_secrets_) {
          out_.Set(key, TomlString(transform.salt.Reveal()));
        } else {
          out_.SetInComment(key, "\"\"", "secret omitted: set it; -o FILE writes it");
        }
      }
    }
  }

  void WriteTables() {
    for (const std::string& table : translation_.tables) {
      out_.Element("source.tables");
      out_.Set("name", TomlString(table));
    }
  }

  const DebeziumTranslation& translation_;
  const bool with_secrets_;
  TomlWriter out_;
};

// Names come from the file, which may be another user's: they are escaped and cut.
std::string ReportLine(const ImportedProperty& property, size_t width) {
  const PropertyResult& result = property.result;
  std::string text = result.outcome == PropertyOutcome::kTranslated && !result.setting.empty()
                         ? fmt::format("→ {}", result.setting)
                         : "";
  if (!result.note.empty()) {
    text += (text.empty() ? "" : ": ") + result.note;
  }
  if (result.outcome == PropertyOutcome::kRefused && !result.setting.empty()) {
    text += fmt::format(" [--set {}=…]", result.setting);
  }
  return fmt::format("  {:<{}}  {}\n", Printable(property.name, 120), width, text);
}

}  // namespace

// All refusals at once, so that an operator need not find them one by one.
absl::Status RefusalOf(const DebeziumImport& import) {
  std::vector<std::string> refused;
  std::vector<std::string> settings;
  for (const ImportedProperty& property : import.properties) {
    if (property.result.outcome == PropertyOutcome::kRefused) {
      refused.push_back(fmt::format("{}: {}", Printable(property.name, 120), property.result.note));
      if (!property.result.setting.empty()) {
        settings.push_back(property.result.setting);
      }
    }
  }
  if (refused.empty()) {
    return absl::OkStatus();
  }
  std::sort(settings.begin(), settings.end());
  settings.erase(std::unique(settings.begin(), settings.end()), settings.end());
  const std::string choose = settings.empty()
                                 ? "Change"
                                 : fmt::format("Choose values: --set {}=…. For the rest change",
                                               fmt::join(settings, "=… --set "));
  return Error(ErrorCode::kConnectorRefused, fmt::format("{}", fmt::join(refused, "; ")),
               choose + " the connector's file, or see walrelay import debezium --allow-lossy.");
}

std::string ImportedToml(const DebeziumImport& import, bool with_secrets) {
  return ImportWriter(import, with_secrets).Write();
}

std::string ImportReport(const DebeziumImport& import) {
  size_t width = 0;
  for (const ImportedProperty& property : import.properties) {
    width = std::max(width, std::min(property.name.size(), kWidest));
  }
  std::string out = ImportSummary(import) + "\n";
  for (const auto& [outcome, title] : kBins) {
    const size_t count = import.Count(outcome);
    out += count == 0 ? "" : fmt::format("\n{} ({})\n", title, count);
    for (const ImportedProperty& property : import.properties) {
      out += property.result.outcome == outcome ? ReportLine(property, width) : "";
    }
  }
  if (!import.translation.required.empty()) {
    out += fmt::format("\nyou must supply: {}\n", fmt::join(import.translation.required, ", "));
  }
  return out;
}

std::string ImportSummary(const DebeziumImport& import) {
  return fmt::format(
      "{}: {} translated, {} same behaviour, {} not applicable, {} refused", import.form,
      import.Count(PropertyOutcome::kTranslated), import.Count(PropertyOutcome::kEquivalent),
      import.Count(PropertyOutcome::kMeaningless), import.Count(PropertyOutcome::kRefused));
}

}  // namespace walrelay

// The output of an import: walrelay.toml and the report.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "config/option.h"
#include "debezium/debezium_import.h"

namespace walrelay {
namespace {

struct BinTitle {
  Bin bin;
  std::string_view title;
};

constexpr BinTitle kBins[] = {
    {Bin::kTranslated, "translated"},
    {Bin::kEquivalent, "checked, same behaviour"},
    {Bin::kMeaningless, "not applicable"},
    {Bin::kRefused, "REFUSED"},
};

constexpr size_t kWidest = 52;

std::string TomlValue(const Option& option, const std::string& text) {
  switch (option.type) {
    case OptionType::kBoolean:
    case OptionType::kInteger:
      return text;
    case OptionType::kSize: {
      const bool number = text.find_first_not_of("0123456789") == std::string::npos;
      return number ? text : TomlString(text);
    }
    case OptionType::kList: {
      std::vector<std::string> items;
      const auto list = FromText(option.type, text);
      for (const std::string& item : std::get<std::vector<std::string>>(*list)) {
        items.push_back(TomlString(item));
      }
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    default:
      return TomlString(text);
  }
}

class TomlWriter {
 public:
  TomlWriter(const DebeziumTranslation& translation, bool with_secrets)
      : translation_(translation), with_secrets_(with_secrets) {}

  std::string Write() {
    for (const Option& option : Options()) {
      WriteOption(option);
    }
    WritePassThrough();
    return out_ + WriteTables();
  }

 private:
  void Line(std::string_view section, const std::string& line) {
    if (section != section_) {
      out_ += fmt::format("\n[{}]\n", section);
      section_ = section;
    }
    out_ += line + "\n";
  }

  void WriteOption(const Option& option) {
    const auto found = translation_.settings.find(option.Name());
    const bool wanted = std::find(translation_.wanted.begin(), translation_.wanted.end(),
                                  option.Name()) != translation_.wanted.end();
    if (found != translation_.settings.end() && !Lists(option)) {
      Line(option.section, Assigned(std::string(option.key), TomlValue(option, found->second),
                                    option.type == OptionType::kSecret));
    } else if (wanted) {
      Line(option.section, fmt::format("# {} = \"\"  # you must supply this", option.key));
    }
  }

  // Several tables are written at the end.
  bool Lists(const Option& option) const {
    return !translation_.tables.empty() && option.Name() == "source.table";
  }

  std::string Assigned(const std::string& key, const std::string& value, bool secret) const {
    return secret && !with_secrets_
               ? fmt::format("# {} = \"\"  # secret omitted: set it, or a file; -o FILE writes it",
                             key)
               : fmt::format("{} = {}", key, value);
  }

  void WritePassThrough() {
    for (const auto& [name, value] : translation_.settings) {
      if (name.starts_with(kPassThroughPrefix)) {
        const std::string property = name.substr(kPassThroughPrefix.size());
        Line("kafka.librdkafka",
             Assigned(TomlString(property), TomlString(value), IsSecretProperty(property)));
      }
    }
  }

  std::string WriteTables() const {
    std::string out;
    for (const Placement& placement : translation_.placements) {
      out += fmt::format("\n[[source.placement]]\ncolumn = {}\nto = \"{}\"\n",
                         TomlString(placement.column), NameOfChoice(placement.where));
      if (placement.name != placement.column) {
        out += fmt::format("as = {}\n", TomlString(placement.name));
      }
    }
    for (const std::string& table : translation_.tables) {
      out += fmt::format("\n[[source.tables]]\nname = {}\n", TomlString(table));
    }
    return out;
  }

  const DebeziumTranslation& translation_;
  const bool with_secrets_;
  std::string_view section_;
  std::string out_;
};

std::string ReportLine(const ImportedProperty& property, size_t width) {
  const Fate& fate = property.fate;
  std::string text = fate.bin == Bin::kTranslated && !fate.setting.empty()
                         ? fmt::format("→ {}", fate.setting)
                         : "";
  if (!fate.note.empty()) {
    text += (text.empty() ? "" : ": ") + fate.note;
  }
  if (fate.bin == Bin::kRefused && !fate.setting.empty()) {
    text += fmt::format(" [--set {}=…]", fate.setting);
  }
  return fmt::format("  {:<{}}  {}\n", Printable(property.name, 120), width, text);
}

}  // namespace

std::string ImportedToml(const DebeziumImport& import, bool with_secrets) {
  return fmt::format("# From {}, by walrelay import debezium.\n", import.form) +
         TomlWriter(import.translation, with_secrets).Write();
}

std::string ImportReport(const DebeziumImport& import) {
  size_t width = 0;
  for (const ImportedProperty& property : import.properties) {
    width = std::max(width, std::min(property.name.size(), kWidest));
  }
  std::string out = ImportSummary(import) + "\n";
  for (const auto& [bin, title] : kBins) {
    const size_t count = import.Count(bin);
    out += count == 0 ? "" : fmt::format("\n{} ({})\n", title, count);
    for (const ImportedProperty& property : import.properties) {
      out += property.fate.bin == bin ? ReportLine(property, width) : "";
    }
  }
  if (!import.translation.wanted.empty()) {
    out += fmt::format("\nyou must supply: {}\n", fmt::join(import.translation.wanted, ", "));
  }
  return out;
}

std::string ImportSummary(const DebeziumImport& import) {
  return fmt::format("{}: {} translated, {} same behaviour, {} not applicable, {} refused",
                     import.form, import.Count(Bin::kTranslated), import.Count(Bin::kEquivalent),
                     import.Count(Bin::kMeaningless), import.Count(Bin::kRefused));
}

}  // namespace walrelay

#include "config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "config/choices.h"
#include "config/option.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// As absl::ParseDuration() reads them, without a sign.
constexpr std::string_view kDurationPattern = R"re(^(0|([0-9]+(\.[0-9]*)?(us|ms|s|m|h))+)$)re";
constexpr std::string_view kSizePattern = R"re(^[0-9]+(B|KiB|MiB|GiB)?$)re";
constexpr std::string_view kNameSchema = R"({"type":"string","minLength":1})";
// One name or several; "": none.
constexpr std::string_view kNamesSchema =
    R"([{"type":"string"},{"type":"array","minItems":1,"items":{"type":"string","minLength":1}}])";
constexpr std::string_view kColumnSchema =
    R"({"anyOf":[{"type":"string","minLength":1},)"
    R"({"type":"array","minItems":1,"items":{"type":"string","minLength":1}}]})";
// Properties of librdkafka or of the brokers, whose documentation writes numbers and booleans
// without quotes. `description` needs no escapes.
std::string PropertiesSchema(std::string_view description) {
  return fmt::format(
      R"({{"type":"object","description":"{}","additionalProperties":{{"type":["string","integer","boolean"]}}}})",
      description);
}

std::string ChoiceList(std::span<const std::string_view> names) {
  return JsonArray(names, [](std::string_view name) { return JsonText(name); });
}

// An object with these members and no others. `required`: a JSON array, or "".
std::string ObjectSchema(JsonObject properties, std::string_view required = "") {
  JsonObject out;
  out.Add("type", "object");
  out.Add("additionalProperties", false);
  if (!required.empty()) {
    out.Raw("required", required);
  }
  out.Raw("properties", std::move(properties).Finish());
  return std::move(out).Finish();
}

std::string ArrayOf(std::string_view description, std::string_view items, int min_items) {
  JsonObject out;
  out.Add("type", "array");
  out.Add("description", description);
  out.Add("minItems", min_items);
  out.Raw("items", items);
  return std::move(out).Finish();
}

// "" is valid for an option that has no default among its choices.
std::string ChoicesOf(const Option& option) {
  std::vector<std::string_view> choices(option.choices.begin(), option.choices.end());
  if (option.show(Config()) == "\"\"") {
    choices.emplace_back("");
  }
  return ChoiceList(choices);
}

void AddTypeSchema(const Option& option, JsonObject& out) {
  switch (option.type) {
    case OptionType::kString:
    case OptionType::kSecret:
      out.Add("type", "string");
      break;
    case OptionType::kBoolean:
      out.Add("type", "boolean");
      break;
    case OptionType::kInteger:
      out.Add("type", "integer");
      out.Add("minimum", 1);
      break;
    case OptionType::kDuration:
      out.Add("type", "string");
      out.Add("pattern", kDurationPattern);
      break;
    case OptionType::kSize:  // "64MiB", or a number of bytes
      out.Raw("type", R"(["string","integer"])");
      out.Add("pattern", kSizePattern);
      out.Add("minimum", 0);
      break;
    case OptionType::kList:
      out.Add("type", "array");
      out.Raw("items", R"({"type":"string"})");
      break;
    case OptionType::kNames:
      out.Raw("anyOf", kNamesSchema);
      break;
    case OptionType::kChoice:
      out.Raw("enum", ChoicesOf(option));
      break;
  }
}

std::string OptionSchema(const Option& option) {
  JsonObject out;
  out.Add("description", option.doc);
  AddTypeSchema(option, out);
  // Values that TOML and JSON write in the same way.
  const std::string shown = option.show(Config());
  if (shown != "auto" && shown != "\"\"") {
    out.Raw("default", shown);
  }
  return std::move(out).Finish();
}

std::string SectionSchema(std::string_view name);

std::string PlacementsSchema() {
  JsonObject members;
  members.Raw("column", kColumnSchema);
  members.Raw("to", fmt::format(R"({{"enum":{},"default":"header"}})",
                                ChoiceList(kChoiceNames<Placement::Where>)));
  members.Raw("as", kNameSchema);
  return ArrayOf(
      "Further columns, published as headers, as members of an envelope, or as the partition.",
      ObjectSchema(std::move(members), R"(["column"])"), 0);
}

std::string TransformsSchema() {
  JsonObject members;
  members.Raw("column", kColumnSchema);
  members.Raw("apply",
              fmt::format(R"({{"enum":{}}})", ChoiceList(kChoiceNames<ColumnTransform::Kind>)));
  members.Raw("length", R"({"type":"integer","minimum":0,"maximum":2147483647})");
  members.Raw("algorithm",
              fmt::format(R"({{"enum":{}}})", ChoiceList(kChoiceNames<HashAlgorithm>)));
  members.Raw("salt", kNameSchema);
  return ArrayOf("Columns whose values are truncated, masked or hashed before they are published.",
                 ObjectSchema(std::move(members), R"(["column","apply"])"), 0);
}

std::string TablesSchema() {
  JsonObject members;
  members.Raw("name", kNameSchema);
  members.Raw("columns", SectionSchema("source.columns"));
  members.Raw("placement", PlacementsSchema());
  members.Raw("transform", TransformsSchema());
  return ArrayOf(
      "Several outbox tables on one slot, each with its own mapping; instead of `table`.",
      ObjectSchema(std::move(members), R"(["name"])"), 1);
}

std::string TopicRulesSchema() {
  constexpr std::string_view kCount =
      R"({"type":"integer","anyOf":[{"const":-1},{"minimum":1}],"default":-1})";
  JsonObject members;
  members.Raw("match", kNameSchema);
  members.Raw("partitions", kCount);
  members.Raw("replication_factor", kCount);
  members.Raw("config", PropertiesSchema("Settings of the topic, by Kafka's names."));
  return ArrayOf("Settings of topics that walrelay creates; the first rule that matches applies.",
                 ObjectSchema(std::move(members), R"(["match"])"), 0);
}

// Adds the members of a section that are neither options nor sections.
void AddSubSchemas(std::string_view section, JsonObject& members) {
  if (section == "source") {
    members.Raw("placement", PlacementsSchema());
    members.Raw("transform", TransformsSchema());
    members.Raw("tables", TablesSchema());
  } else if (section == "kafka") {
    members.Raw("librdkafka",
                PropertiesSchema("Other properties of librdkafka, by their own names."));
  } else if (section == "kafka.topics") {
    members.Raw("rules", TopicRulesSchema());
  }
}

// The sections directly within `parent`; "": those of the file.
std::vector<std::string_view> SectionsWithin(std::string_view parent) {
  std::vector<std::string_view> found;
  for (const Option& option : Options()) {
    const bool within = parent.empty() || (option.section.starts_with(parent) &&
                                           option.section.size() > parent.size() &&
                                           option.section[parent.size()] == '.');
    const size_t begin = parent.empty() ? 0 : parent.size() + 1;
    const std::string_view name =
        within ? option.section.substr(0, option.section.find('.', begin)) : "";
    if (within && std::find(found.begin(), found.end(), name) == found.end()) {
      found.push_back(name);
    }
  }
  return found;
}

std::string SectionSchema(std::string_view name) {
  JsonObject members;
  for (const Option& option : Options()) {
    if (option.section == name) {
      members.Raw(option.key, OptionSchema(option));
    }
  }
  for (const std::string_view child : SectionsWithin(name)) {
    members.Raw(child.substr(name.size() + 1), SectionSchema(child));
  }
  AddSubSchemas(name, members);
  return ObjectSchema(std::move(members));
}

}  // namespace

std::string ConfigSchema() {
  JsonObject members;
  members.Raw("config_version", R"({"const":1})");
  for (const std::string_view section : SectionsWithin("")) {
    members.Raw(section, SectionSchema(section));
  }
  JsonObject out;
  out.Add("$schema", "http://json-schema.org/draft-07/schema#");
  out.Add("title", "walrelay.toml");
  out.Add("description", "Configuration of walrelay.");
  out.Add("type", "object");
  out.Add("additionalProperties", false);
  out.Raw("properties", std::move(members).Finish());
  return std::move(out).Finish();
}

}  // namespace walrelay

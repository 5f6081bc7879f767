#include "debezium/debezium_topics.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "base/text.h"
#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

constexpr std::string_view kCreation = "topic.creation.";
constexpr std::string_view kDefaultGroup = "default";
constexpr const char* kCreate = "kafka.topics.create";

// Connect's limits are those of an int and a short; these are librdkafka's.
constexpr int64_t kMostPartitions = 100'000;
constexpr int64_t kMostReplicas = 10'000;

// -1 is the brokers' default, as in walrelay.
std::optional<int64_t> CountOf(std::string_view text, int64_t most) {
  const std::string value = JavaTrim(text);
  int64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  const bool valid = error == std::errc() && end == value.data() + value.size() && count >= -1 &&
                     count != 0 && count <= most;
  return valid ? std::optional(count) : std::nullopt;
}

// The entries of a list, without empty ones.
std::vector<std::string> ListOf(const DebeziumOptions& connector, std::string_view name) {
  std::vector<std::string> list;
  for (const std::string& entry : JavaSplit(ValueOr(connector, name, ""), ',')) {
    if (std::string item = JavaTrim(entry); !item.empty()) {
      list.push_back(std::move(item));
    }
  }
  return list;
}

// In their order, without the group that every connector has.
std::vector<std::string> Groups(const DebeziumOptions& connector) {
  std::vector<std::string> groups = ListOf(connector, "topic.creation.groups");
  std::erase(groups, kDefaultGroup);
  return groups;
}

// The property's group, and its name inside the group.
struct GroupOption {
  std::string group;
  std::string_view name;
};

// nullopt: no group has this name. A group's name may contain dots; the longest one counts.
std::optional<GroupOption> FindGroup(std::string_view property, const DebeziumOptions& connector) {
  property.remove_prefix(kCreation.size());
  std::vector<std::string> groups = Groups(connector);
  groups.emplace_back(kDefaultGroup);
  std::optional<GroupOption> found;
  for (const std::string& group : groups) {
    if (property.starts_with(group + ".") && (!found || group.size() > found->group.size())) {
      found = GroupOption{group, property.substr(group.size() + 1)};
    }
  }
  return found;
}

std::string PropertyOf(std::string_view group, std::string_view name) {
  return fmt::format("{}{}.{}", kCreation, group, name);
}

// Connect creates topics only for a connector that says how.
bool Creates(const DebeziumOptions& connector) {
  const auto first = connector.lower_bound(PropertyOf(kDefaultGroup, ""));
  const bool configured =
      first != connector.end() && first->first.starts_with(PropertyOf(kDefaultGroup, ""));
  return configured && JavaLower(ValueOr(connector, "topic.creation.enable", "true")) != "false";
}

// The globs of a list of expressions; nullopt if one of them is not a list of globs. A "|" inside
// parentheses leaves parts with a parenthesis, which are not globs.
std::optional<std::vector<std::string>> GlobsOf(const std::vector<std::string>& regexes) {
  std::vector<std::string> globs;
  for (const std::string& regex : regexes) {
    for (const std::string& alternative : JavaSplit(regex, '|')) {
      auto glob = GlobOf(alternative);
      if (!glob || glob->empty()) {
        return std::nullopt;
      }
      globs.push_back(*std::move(glob));
    }
  }
  return globs;
}

// A topic that the last group excludes belongs to the default group, whose settings a rule before
// those of the group can give it. Behind other groups' exclusions a further group may follow.
bool MayExclude(std::string_view group, const DebeziumOptions& connector) {
  const std::vector<std::string> groups = Groups(connector);
  return !groups.empty() && groups.back() == group;
}

PropertyResult TranslatePatterns(const GroupOption& option, const std::string& property,
                                 const DebeziumOptions& connector) {
  if (option.name == "exclude" && !MayExclude(option.group, connector)) {
    return Refused("only the last group may exclude topics", kCreate);
  }
  return GlobsOf(ListOf(connector, property))
             ? Translated("[[kafka.topics.rules]]")
             : Refused("the expression is not a glob (\".\", \".*\", \".+\", \"|\" and characters)",
                       kCreate);
}

PropertyResult TranslateGroupOption(const GroupOption& option, const std::string& property,
                                    const DebeziumOptions& connector) {
  const std::string value = ValueOr(connector, property, "");
  if (option.name == "include" || option.name == "exclude") {
    return option.group == kDefaultGroup ? Meaningless("the default group has every other topic")
                                         : TranslatePatterns(option, property, connector);
  }
  const bool partitions = option.name == "partitions";
  if (!partitions && option.name != "replication.factor") {
    return Translated("[[kafka.topics.rules]]", "config");
  }
  return CountOf(value, partitions ? kMostPartitions : kMostReplicas)
             ? Translated("[[kafka.topics.rules]]")
             : Refused(fmt::format("\"{}\" is not a number of {}", Printable(value, 80),
                                   partitions ? "partitions" : "replicas"),
                       kCreate);
}

// The settings of a group, which inherits only the two numbers of the default group.
TopicRule SettingsOf(std::string_view group, const DebeziumOptions& connector) {
  TopicRule rule;
  for (const std::string_view from : {kDefaultGroup, group}) {
    rule.partitions =
        CountOf(ValueOr(connector, PropertyOf(from, "partitions"), ""), kMostPartitions)
            .value_or(rule.partitions);
    rule.replication_factor =
        CountOf(ValueOr(connector, PropertyOf(from, "replication.factor"), ""), kMostReplicas)
            .value_or(rule.replication_factor);
  }
  for (const auto& [property, value] : connector) {
    const auto option = property.starts_with(kCreation) ? FindGroup(property, connector)
                                                        : std::optional<GroupOption>();
    if (option && option->group == group && option->name != "include" &&
        option->name != "exclude" && option->name != "partitions" &&
        option->name != "replication.factor") {
      rule.config.emplace_back(option->name, value);
    }
  }
  return rule;
}

void AddRules(const std::vector<std::string>& globs, const TopicRule& settings,
              DebeziumTranslation& out) {
  for (const std::string& glob : globs) {
    out.topic_rules.push_back(settings);
    out.topic_rules.back().match = glob;
  }
}

}  // namespace

std::optional<std::string> GlobOf(std::string_view regex) {
  std::string glob;
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    const char next = i + 1 < regex.size() ? regex[i + 1] : '\0';
    const bool escaped = c == '\\' && next != '\0' && std::string_view(".-_").find(next) < 3;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (c == '.' && (next == '*' || next == '+')) {
      glob += next == '*' ? "*" : "?*";
      ++i;
    } else if (c == '.') {
      glob += '?';
    } else if (escaped) {
      glob += next;
      ++i;
    } else if (plain) {
      glob += c;
    } else {
      return std::nullopt;
    }
  }
  return glob;
}

std::optional<PropertyResult> TranslateTopicOption(std::string_view name,
                                                   const DebeziumOptions& connector) {
  if (!name.starts_with(kCreation)) {
    return std::nullopt;
  }
  if (name == "topic.creation.enable") {
    return Creates(connector) ? Translated(kCreate) : Equivalent("walrelay creates no topics");
  }
  if (!Creates(connector)) {
    return Meaningless("Connect creates no topics for this connector");
  }
  if (name == "topic.creation.groups") {
    return Translated("[[kafka.topics.rules]]");
  }
  const auto option = FindGroup(name, connector);
  return option ? TranslateGroupOption(*option, std::string(name), connector)
                : Meaningless("topic.creation.groups has no such group");
}

void FinishTopics(const DebeziumOptions& connector, DebeziumTranslation& out) {
  if (!Creates(connector)) {
    return;
  }
  out.settings.try_emplace(kCreate, "create");
  const TopicRule others = SettingsOf(kDefaultGroup, connector);
  for (const std::string& group : Groups(connector)) {
    if (const auto globs = GlobsOf(ListOf(connector, PropertyOf(group, "exclude")));
        globs && MayExclude(group, connector)) {
      AddRules(*globs, others, out);
    }
    if (const auto globs = GlobsOf(ListOf(connector, PropertyOf(group, "include")))) {
      AddRules(*globs, SettingsOf(group, connector), out);
    }
  }
  AddRules({"*"}, others, out);
}

}  // namespace walrelay

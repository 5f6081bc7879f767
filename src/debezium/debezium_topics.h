// Translates Kafka Connect's topic.creation.* to [kafka.topics].
//
// Connect sorts a topic into the first group, in the order of topic.creation.groups, whose include
// list matches its name and whose exclude list does not; else into the group "default". A rule of
// walrelay has a glob, and the first that matches applies. An expression that is not a glob is
// refused, unless it is a list of globs; so is an exclude list of a group that is not the last.
//
// Pure. Source: Kafka, KIP-158; org.apache.kafka.connect.runtime.TopicCreationConfig.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// The result for one property of a connector; `connector` holds all properties. nullopt: its name
// does not begin with "topic.creation.".
std::optional<PropertyResult> TranslateTopicOption(std::string_view name,
                                                   const DebeziumOptions& connector);

// Sets kafka.topics.create and the rules, if Connect creates the connector's topics. Omits
// properties that TranslateTopicOption() refuses.
void FinishTopics(const DebeziumOptions& connector, DebeziumTranslation& out);

// The glob that matches the same topic names as a Java regular expression; nullopt if none does.
// The names are legal, so that a dot matches every character of them.
std::optional<std::string> GlobOf(std::string_view regex);

}  // namespace walrelay

// Topic names that Kafka and the operator allow.
//
// Topic names come from row data, so they are checked before a record is produced: librdkafka
// accepts any name at produce and fails the whole batch later.
//
// Source: org.apache.kafka.common.internals.Topic; names that start with "__" are Kafka's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace walrelay {

struct ErrorPolicy;

// Errors: WR-3005 (TopicInvalid), with the reason.
// Legal: 1 to 249 of letters, digits, '.', '_' and '-', not "." or "..", not starting with "__".
// Pure.
absl::Status CheckTopicName(std::string_view topic);

// The same, for the topic of a row: no row may write what walrelay itself believes, so that a topic
// of progress, of any pipeline, or one of `reserved` is refused, whatever the configuration allows.
absl::Status CheckRowTopic(std::string_view topic, const std::vector<std::string>& reserved);

// The topics of a configuration that rows may not address: those for progress and dead letters,
// where they have names of their own.
std::vector<std::string> ReservedTopics(const std::string& progress_topic,
                                        const ErrorPolicy& on_error);

// A part of a topic's name: its characters and its length. "" is valid. Errors: WR-3005.
absl::Status CheckTopicPart(std::string_view part);

// `*` matches any run of characters, `?` one character; all other characters match themselves.
// Takes at most the product of the two lengths.
bool MatchesGlob(std::string_view text, std::string_view glob);
// False for an empty list. Matching is by byte and case-sensitive.
bool MatchesAnyGlob(std::string_view text, const std::vector<std::string>& globs);

}  // namespace walrelay

// Which topic names Kafka allows, and which the operator does.
//
// Topic names are made of row data, so they are checked before a record is produced: librdkafka
// accepts any name at produce and fails the whole batch later.
//
// Source: org.apache.kafka.common.internals.Topic; names that start with "__" are Kafka's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace walrelay {

// Errors: WR-3005 (TopicInvalid), saying what is wrong with the name.
absl::Status CheckTopicName(std::string_view topic);

// `*` stands for any run of characters, `?` for one; everything else for itself.
bool MatchesGlob(std::string_view text, std::string_view glob);
bool MatchesAnyGlob(std::string_view text, const std::vector<std::string>& globs);

}  // namespace walrelay

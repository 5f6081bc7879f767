// Reads [[kafka.topics.rules]]: match, partitions, replication_factor, config.
#pragma once

#include <vector>

#include "config/file_problems.h"
#include "config/toml_library.h"
#include "walrelay/config/kafka.h"

namespace walrelay {

// The rules of the array `node`. A rule with an error has default values.
std::vector<TopicRule> ReadTopicRules(const toml::node& node, FileProblems& problems);

}  // namespace walrelay

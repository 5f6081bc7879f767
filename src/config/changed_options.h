// The difference between two configurations, for people.
//
// Pure.
#pragma once

#include <string>
#include <vector>

namespace walrelay {

struct Config;

// The names of the options whose values differ, in the order of the reference; values are not part
// of it. "source.tables" stands for the tables with their columns and placements,
// "kafka.librdkafka" for all properties of librdkafka, and "a secret" for secrets that the
// configuration contains. Empty if the configurations are equal.
std::vector<std::string> ChangedOptions(const Config& before, const Config& after);

}  // namespace walrelay

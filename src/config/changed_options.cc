#include "config/changed_options.h"

#include "config/option.h"
#include "walrelay/config.h"

namespace walrelay {

std::vector<std::string> ChangedOptions(const Config& before, const Config& after) {
  if (before == after) {
    return {};
  }
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    if (option.show(before) != option.show(after)) {
      names.push_back(option.Name());
    }
  }
  // These options have no row in the table of options.
  if (before.source.tables != after.source.tables) {
    names.emplace_back("source.tables");
  }
  if (before.kafka.librdkafka != after.kafka.librdkafka) {
    names.emplace_back("kafka.librdkafka");
  }
  // A secret is shown as "***", whatever its value.
  if (names.empty()) {
    names.emplace_back("a secret");
  }
  return names;
}

}  // namespace walrelay

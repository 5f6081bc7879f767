// The relay's core under one configuration: a stream of bytes in, records out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/case_file.h"
#include "walrelay/config.h"

namespace walrelay::conformance {

struct Published {
  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<int32_t> partition;
  std::optional<int64_t> timestamp_ms;
};

// What became of a case.
struct Outcome {
  absl::Status refused;  // the configuration
  absl::Status blocked;  // the line
  std::vector<Published> records;

  bool stopped() const { return !refused.ok() || !blocked.ok(); }
};

// Runs `rows` in order, each in a transaction of its own, under the options of the last; `key` and
// `value` are Connect's converters as the cases name them. Records are those of the last row.
Outcome Run(const std::vector<const Case*>& rows, const std::string& key, const std::string& value);

}  // namespace walrelay::conformance

// Runs the relay's core under one configuration: a stream of bytes in, records out.
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

// The result of a case.
struct Outcome {
  absl::Status refused;  // the configuration was rejected
  absl::Status blocked;  // publishing is blocked
  std::vector<Published> records;

  bool stopped() const { return !refused.ok() || !blocked.ok(); }
};

// Runs `rows` in order, each in its own transaction, with the options of the last one. `key` and
// `value` are Connect's converters as named in the cases. Returns the records of the last row.
Outcome Run(const std::vector<const Case*>& rows, const std::string& key, const std::string& value);

}  // namespace walrelay::conformance

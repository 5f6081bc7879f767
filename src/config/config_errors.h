// ConfigErrors: collects the errors in the values of a configuration.
//
// A message begins with the option's name, and ends with the value if that value alone is wrong.
// Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "config/option.h"
#include "config/problems.h"

namespace walrelay {

class ConfigErrors {
 public:
  // `config` must outlive it.
  explicit ConfigErrors(const Config& config) : config_(config) {}

  // Adds WR-1003 with this text.
  void Reject(std::string option, std::string_view what, std::string_view hint = {});
  // Adds WR-1003 for an option that is missing because `required_by` needs it.
  void RejectMissing(std::string option, std::string required_by, std::string_view what);
  // Adds "source.slot: expected `what`, got "Y"", with the value that the option has. REQUIRES: an
  // option has the name (WR_CHECK).
  void Expect(const Option& option, std::string_view what);
  void Expect(std::string_view option, std::string_view what);
  // Adds an error that was found elsewhere. REQUIRES: !error.ok() (WR_CHECK).
  void Add(std::string option, absl::Status error);

  // Returns the errors in the order in which they were added.
  std::vector<OptionError> Take() { return std::move(errors_); }

 private:
  const Config& config_;
  std::vector<OptionError> errors_;
};

}  // namespace walrelay

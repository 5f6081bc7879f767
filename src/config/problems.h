// ConfigProblems: everything that is wrong with a configuration, so that an operator can fix it in
// one go.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace walrelay {

// Where a value comes from.
struct Origin {
  std::string text;  // "walrelay.toml:3:8", "variable NAME", "--set NAME", or a file's name
  // The place in a file, from 1; 0: the value does not come from a line of a file.
  uint32_t line = 0;
  uint32_t column = 0;
};

// The servers that a command connects to: only their addresses and logins are required.
// Commands that do not connect to a server need no address of it.
// Names of slots and publications, ranges and combinations are checked in any case.
struct ConfigNeeds {
  bool postgres = true;
  bool kafka = true;
};

// An error in the value of an option. The message begins with the option's name.
struct OptionError {
  std::string option;  // as in LoadedConfig::origins; or a section, if none of its options is known
  absl::Status error;
  // The option whose value requires a missing one: its place is that of the error. "": `option`.
  std::string required_by;
};

// A value type; not thread-safe.
class ConfigProblems {
 public:
  // Records an error of the value at `origin`, which becomes the beginning of its message; an
  // origin without text adds nothing. `option`: the option that has no valid value because of it;
  // "": none. REQUIRES: !error.ok().
  void Add(const Origin& origin, std::string_view option, const absl::Status& error);
  // Whether the option, or any option of the section, has no valid value, so that further errors
  // would only follow from that.
  bool Concern(std::string_view name) const;

  bool empty() const { return found_.empty(); }
  // All errors as one (JoinErrors), those of the file first, by line. OK if there is none.
  absl::Status ToStatus() const;

 private:
  struct Problem {
    Origin origin;
    absl::Status error;
  };
  std::vector<Problem> found_;
  std::set<std::string, std::less<>> options_;  // that have an error
};

}  // namespace walrelay

// Coverage: which states, transitions, faults and errors the histories have reached.
//
// What must be reached is a list (coverage.cc); a name that nothing in a long run has reached means
// that the simulator no longer shows what it claims to show. One for each thread; merged at the
// end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay::sim {

class Coverage {
 public:
  void Count(std::string_view name, std::string_view prefix = "") {
    key_ = prefix;
    key_ += name;
    ++counts_[key_];
  }
  void Merge(const Coverage& other) {
    for (const auto& [name, count] : other.counts_) {
      counts_[name] += count;
    }
  }
  void Print() const;
  // Those of the list that were not reached.
  std::vector<std::string> Missing() const;

 private:
  std::map<std::string, uint64_t> counts_;
  std::string key_;
};

}  // namespace walrelay::sim

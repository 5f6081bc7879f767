// Coverage: counts the states, transitions, faults and errors that the histories have reached.
//
// coverage.cc lists the names that must be reached. A name that a long run does not reach means
// that the simulator no longer tests what it claims to test. Each thread has its own object; they
// are merged at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay::sim {

// Histories that record progress, and repeated events in them, by mode.
inline constexpr std::string_view kHistoriesTopics = "history with mode = topics";
inline constexpr std::string_view kHistoriesSlot = "history with mode = slot";
inline constexpr std::string_view kRepeatsTopics = "repetition with mode = topics";
inline constexpr std::string_view kRepeatsSlot = "repetition with mode = slot";

class Coverage {
 public:
  void Count(std::string_view name, std::string_view prefix = "") {
    key_ = prefix;
    key_ += name;
    ++counts_[key_];
  }
  void Add(std::string_view name, uint64_t number) { counts_[std::string(name)] += number; }
  void Merge(const Coverage& other) {
    for (const auto& [name, count] : other.counts_) {
      counts_[name] += count;
    }
  }
  void Print() const;
  // The required names that were not reached.
  std::vector<std::string> Missing() const;

 private:
  std::map<std::string, uint64_t> counts_;
  std::string key_;
};

}  // namespace walrelay::sim

// RepeatLimit: suppresses the lines of the log that repeat, and counts them.
//
// A kind of line is that of one pipeline, event and error code. Ten lines of a kind are admitted in
// ten seconds. Not thread-safe: log.cc has one, behind its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_hash.h"
#include "walrelay/clock.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

// Counts the lines of each kind, and the suppressed lines that are not reported yet.
class RepeatLimit {
 public:
  // The suppressed lines of one kind.
  struct HeldBack {
    const PipelineIdentity* pipeline = nullptr;  // nullptr: none. Not owned
    std::string event;
    std::string code;  // "": none
    uint64_t lines = 0;
  };

  // Whether this line may be written. The number of kinds (pipeline, event name and code) is small.
  bool Admit(const PipelineIdentity* pipeline, std::string_view event, std::string_view code,
             MonoTime now);

  // Returns and clears the counts of windows that have ended by `now`.
  std::vector<HeldBack> Take(MonoTime now);

 private:
  struct Window {
    MonoTime start;
    int lines = 0;
    HeldBack held_back;
  };
  StringMap<Window> windows_;
  size_t waiting_ = 0;  // windows with suppressed lines
};

}  // namespace walrelay

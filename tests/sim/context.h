// Context: shared by all parts of a history: clock, random numbers, event_queue, oracle, trace.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "coverage.h"
#include "event_queue.h"
#include "oracle.h"
#include "random.h"
#include "sim_clock.h"

namespace walrelay::sim {

struct Context {
  explicit Context(uint64_t seed, Coverage& counts, bool tracing)
      : random(seed), oracle(clock), coverage(counts), trace(tracing) {}

  MonoTime now() const { return clock.Now(); }
  void After(Micros delay, EventQueue::Action action) {
    event_queue.At(clock.Now() + delay, std::move(action));
  }
  // Writes a line to the trace.
  template <typename... Args>
  void Note(fmt::format_string<Args...> text, Args&&... args) {
    if (trace) {
      Write(fmt::format(text, std::forward<Args>(args)...));
    }
  }
  void Write(const std::string& line) const {
    const auto elapsed = clock.Elapsed().count();
    fmt::print("{:6}.{:06} {}\n", elapsed / 1'000'000, elapsed % 1'000'000, line);
  }

  SimClock clock;
  Random random;
  EventQueue event_queue;
  Oracle oracle;
  Coverage& coverage;
  const bool trace;
  bool log_blocked = false;  // the relay's standard error is not being read
};

}  // namespace walrelay::sim

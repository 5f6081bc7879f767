// Context: shared by all parts of a history: clock, random numbers, agenda, judge, trace.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "agenda.h"
#include "coverage.h"
#include "judge.h"
#include "random.h"
#include "sim_clock.h"

namespace walrelay::sim {

struct Context {
  explicit Context(uint64_t seed, Coverage& counts, bool tracing)
      : random(seed), judge(clock), coverage(counts), trace(tracing) {}

  MonoTime now() const { return clock.Now(); }
  void After(Micros delay, Agenda::Action action) {
    agenda.At(clock.Now() + delay, std::move(action));
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
  Agenda agenda;
  Judge judge;
  Coverage& coverage;
  const bool trace;
  bool log_blocked = false;  // the relay's standard error is not being read
};

}  // namespace walrelay::sim

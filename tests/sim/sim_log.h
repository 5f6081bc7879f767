// LogTrace: while it lives, what relays of this thread log is counted, and goes to the trace of a
// history.
#pragma once

namespace walrelay::sim {

struct Context;

class LogTrace {
 public:
  explicit LogTrace(Context& context);
  ~LogTrace();
  LogTrace(const LogTrace&) = delete;
  LogTrace& operator=(const LogTrace&) = delete;
};

}  // namespace walrelay::sim

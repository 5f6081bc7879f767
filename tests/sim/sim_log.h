// LogTrace: during its lifetime, log lines of this thread's relays are counted and written to the
// trace of the history.
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

// WR_CHECK(condition, "why it must hold"): an invariant of the program.
//
// Enabled in release builds. A violation is a bug in walrelay, never bad input (which is a Status):
// the process aborts immediately, confirms nothing more, and after a restart Postgres sends every
// unacknowledged event again. Continuing with a broken invariant could lose events. A fleet
// restarts by itself (daemon/worker_process.h).
#pragma once

namespace walrelay {

// Writes one line with WR-5001 to standard error, without the log, and calls abort(). Callable from
// any thread. All texts must be literals.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);

}  // namespace walrelay

// A macro, so that a failure names file, line and condition. The condition is evaluated once, in
// every build.
#define WR_CHECK(condition, why)                     \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::walrelay::CheckFailed(__FILE__, __LINE__, #condition, why))

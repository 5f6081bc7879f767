// WR_CHECK(condition, "why it must hold"): an invariant of the program.
//
// Stays on in release builds. A violation is a bug here, never bad input (that is a Status): the
// process aborts at once, confirms nothing more, and after a restart the slot sends everything
// again that was not acknowledged. Going on with a broken invariant is how events get lost.
#pragma once

namespace walrelay {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);

}  // namespace walrelay

#define WR_CHECK(condition, why)                     \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::walrelay::CheckFailed(__FILE__, __LINE__, #condition, why))

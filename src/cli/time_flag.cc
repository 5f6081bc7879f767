#include "cli/time_flag.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<std::optional<WallTime>> ParseTimeFlag(std::string_view flag,
                                                      const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const auto time = ParseRfc3339(text);
  return time ? absl::StatusOr<std::optional<WallTime>>(time)
              : Error(ErrorCode::kUsage,
                      fmt::format("{}: invalid; expected a time such as 2026-11-20T08:00:00Z, got "
                                  "\"{}\"",
                                  flag, Printable(text, 60)));
}

}  // namespace walrelay

#include "postgres/incoming_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

// libpq's buffer has the message, the caller gets a copy, and the record is made of it: less than
// 2.75 times its size (docs/delivery.md, "Memory").
absl::Status FitsIntoMemory(uint64_t size, std::optional<uint64_t> limit, uint64_t resident) {
  const uint64_t left = limit ? *limit - std::min(*limit, resident) : 0;
  if (!limit || size <= left / 11 * 4) {
    return absl::OkStatus();
  }
  return Error(
      ErrorCode::kRowExceedsMemory,
      fmt::format("a row of up to {} arrives, and takes up to {}; this process may have {}, "
                  "and has {} already",
                  HumanBytes(size), HumanBytes(size / 4 * 11), HumanBytes(*limit),
                  HumanBytes(resident)));
}

}  // namespace walrelay

// Whether a message of the stream, of which the header has arrived, can fit into the memory of this
// process.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace walrelay {

// `size`: the most that the message may have. `limit`: of this process's memory; nullopt: none.
// `resident`: what it has at present. Errors: WR-2403. The kernel would kill a process that exceeds
// the limit, and the next one in its place.
absl::Status FitsIntoMemory(uint64_t size, std::optional<uint64_t> limit, uint64_t resident);

}  // namespace walrelay

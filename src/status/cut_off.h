// Since when a relay has not read events that may wait: it lost its connection, or Postgres sends
// nothing although WAL waits to be sent.
//
// Pure functions.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "status/relay_view.h"
#include "walrelay/clock.h"

namespace walrelay {

// Decoding that takes longer is shown: events that were committed behind it wait.
inline constexpr Micros kLongDecoding = std::chrono::seconds(10);

// A stream that sends nothing although WAL waits to be sent.
struct Silence {
  absl::Status error;  // WR-2112, WR-2113; OK while Postgres decodes, and at first
  Micros lasts{0};
  bool rows_may_wait = true;
};
// nullopt while the stream is up to date, while this process holds it up, and without a stream.
std::optional<Silence> SilenceOf(const RelayView& view);

// Since when the silence may delay events; nullopt if it does not.
std::optional<WallTime> SilentSince(const RelayView& view);

// How long the relay has been unable to read: what it has not seen may be that old, or older. Also
// with a stream, where it has no meaning.
Micros TimeCutOff(const RelayView& view);

}  // namespace walrelay

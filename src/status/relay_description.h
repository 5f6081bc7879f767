// Describe: the status of a relay, from a view of its state.
#pragma once

#include "status/relay_view.h"
#include "status/status_board.h"

namespace walrelay {

// The state, with the error and the row that explain it, the condition that publishing waits for,
// and the figures. A blocked state has an error. `since` is not set. `shown`: the state that was
// described last; a stream is behind from two seconds on, and again up to date below half a second.
// Pure. REQUIRES: the view has a stream exactly while its phase is kStreaming.
RelayStatus Describe(const RelayView& view, RelayState shown);

}  // namespace walrelay

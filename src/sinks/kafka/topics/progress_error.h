// Errors of the progress topic: the catalogue's entries of most Kafka errors are about events and
// their topics.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// The error that a request for the progress topic `topic` failed with, or OK: WR-4016 instead of
// WR-4005, WR-4015 instead of WR-3005, and WR-4001 for a topic that was deleted during the request.
absl::Status AboutProgress(const absl::Status& error, std::string_view topic);

}  // namespace walrelay

// The request of the control channel for what a relay has published, and its answer.
//
//   published   none | proof BACKEND_PID SERVER_STARTED (microseconds since 1970), a line feed,
//   and a progress record
//   (proto/walrelay/progress)
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "stream/published_proof.h"

namespace walrelay {

inline constexpr std::string_view kPublishedRequest = "published";

// "none" as well if the stream of the proof has ended: the server may be another one since.
std::string AnswerPublished(const std::optional<PublishedProof>& published);

// `as_of` of the result is not set. Errors: WR-5007 for an answer of another version of walrelay.
absl::StatusOr<std::optional<PublishedProof>> ParsePublished(std::string_view answer);

}  // namespace walrelay

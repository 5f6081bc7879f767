// Matchers for absl::Status. A test names the error that it expects, not only that there is one.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/error.h"

namespace walrelay {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// An OK StatusOr whose value `inner` matches.
MATCHER_P(IsOkAndHolds, inner, "is OK and holds " + ::testing::PrintToString(inner)) {
  *result_listener << arg.status().ToString();
  return arg.ok() && ::testing::ExplainMatchResult(inner, *arg, result_listener);
}

MATCHER_P(HasError, code, "is " + ToString(code)) {
  *result_listener << StatusOf(arg).ToString();
  return HasCode(StatusOf(arg), code);
}

MATCHER_P2(HasError, code, part, "is " + ToString(code) + " and says \"" + part + "\"") {
  *result_listener << StatusOf(arg).ToString();
  return HasCode(StatusOf(arg), code) && MessageOf(StatusOf(arg)).find(part) != std::string::npos;
}

}  // namespace walrelay

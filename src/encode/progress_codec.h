// The value of a record in the progress topic. Contract: proto/walrelay/progress/v1/progress.proto.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/progress.h"

namespace walrelay {

// The name and the value of the header of every progress record.
inline constexpr std::string_view kProgressFormatHeader = "walrelay.format";
inline constexpr std::string_view kProgressFormat = "1";

// Texts are written as by Printable(), because the record must be UTF-8: compare a database's name
// in the same form. If there are more than 1000 ancestors, only the last ones are written.
// REQUIRES: at most four horizons.
std::string EncodeProgress(const Progress& progress);

// Errors: WR-4017 for a value of a later format, for one that is not a record, and for one whose
// members are invalid.
absl::StatusOr<Progress> DecodeProgress(std::string_view value);

}  // namespace walrelay

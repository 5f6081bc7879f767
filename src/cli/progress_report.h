// A progress record as `walrelay progress` prints it.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "walrelay/progress.h"

namespace walrelay {

// One line per member. Escaped for a terminal.
std::string ProgressText(const Progress& record, std::string_view topic);

// One line: {"topic": …, "record": …}; the record is null if there is none.
std::string ProgressJson(const std::optional<Progress>& record, std::string_view topic);

}  // namespace walrelay

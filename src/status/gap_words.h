// The operator's next step at a gap that is held, as one sentence.
#pragma once

#include <string_view>

#include "stream/gap.h"

namespace walrelay {

// The step that publishes the missing events comes before the one that gives them up.
std::string_view NextStepOf(const Gap& gap);

}  // namespace walrelay

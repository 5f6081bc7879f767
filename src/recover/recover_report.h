// The plan of a recovery, as an operator reads it, and as JSON.
//
// Pure functions. Texts from servers are escaped.
#pragma once

#include <optional>
#include <string>

#include "recover/recover_plan.h"

namespace walrelay {

struct SourceConfig;

std::string PlanText(const SourceConfig& source, const RecoverPlan& plan);

// nullopt: there is nothing to do. With a line break.
std::string PlanJson(const SourceConfig& source, const std::optional<RecoverPlan>& plan);

}  // namespace walrelay

// Shrinking: reduces a failing plan.
#pragma once

#include <functional>

#include "plan.h"

namespace walrelay::sim {

// Removes faults, transactions, rows and settings as long as `fails` returns true.
Plan Shrink(Plan plan, const std::function<bool(const Plan&)>& fails);

// Prints the plan, one item per line.
void Print(const Plan& plan);

}  // namespace walrelay::sim

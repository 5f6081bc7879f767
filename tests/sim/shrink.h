// Shrinking: the smallest plan that still fails.
#pragma once

#include <functional>

#include "plan.h"

namespace walrelay::sim {

// Takes away faults, transactions, rows and settings as long as `fails` holds.
Plan Shrink(Plan plan, const std::function<bool(const Plan&)>& fails);

// The plan in words, a line an item.
void Print(const Plan& plan);

}  // namespace walrelay::sim

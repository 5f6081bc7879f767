// Shrinking: reduces a failing scenario.
#pragma once

#include <functional>

#include "scenario.h"

namespace walrelay::sim {

// Removes faults, transactions, rows and settings as long as `fails` returns true.
Scenario Shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails);

// Prints the scenario, one item per line.
void Print(const Scenario& scenario);

}  // namespace walrelay::sim

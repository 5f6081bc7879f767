#include "shrink.h"

#include <fmt/format.h>

#include <algorithm>

namespace walrelay::sim {
namespace {

using Test = std::function<bool(const Scenario&)>;

// Removes halves, quarters, … single items of a list as long as the rest still fails.
template <typename Item>
void ShrinkList(Scenario& scenario, std::vector<Item> Scenario::*list, const Test& fails) {
  for (size_t chunk = std::max<size_t>(1, (scenario.*list).size() / 2);; chunk /= 2) {
    for (size_t at = 0; at < (scenario.*list).size();) {
      Scenario smaller = scenario;
      auto& items = smaller.*list;
      const size_t end = std::min(at + chunk, items.size());
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at),
                  items.begin() + static_cast<std::ptrdiff_t>(end));
      if (fails(smaller)) {
        scenario = smaller;
      } else {
        at += chunk;
      }
    }
    if (chunk <= 1) {
      return;
    }
  }
}

template <typename Value>
void Try(Scenario& scenario, Value Scenario::*member, Value value, const Test& fails) {
  Scenario simpler = scenario;
  simpler.*member = value;
  if (fails(simpler)) {
    scenario = simpler;
  }
}

void ShrinkRows(Scenario& scenario, const Test& fails) {
  for (size_t i = 0; i < scenario.transactions.size(); ++i) {
    while (scenario.transactions[i].rows > 1) {
      Scenario smaller = scenario;
      smaller.transactions[i].rows /= 2;
      if (!fails(smaller)) {
        break;
      }
      scenario = smaller;
    }
  }
}

}  // namespace

Scenario Shrink(Scenario scenario, const Test& fails) {
  for (size_t before = SIZE_MAX; before != scenario.faults.size() + scenario.transactions.size();) {
    before = scenario.faults.size() + scenario.transactions.size();
    ShrinkList(scenario, &Scenario::faults, fails);
    ShrinkList(scenario, &Scenario::transactions, fails);
  }
  ShrinkRows(scenario, fails);
  Try(scenario, &Scenario::second_relay, false, fails);
  Try(scenario, &Scenario::flaws, 0, fails);
  Try(scenario, &Scenario::topics_exist, true, fails);
  return scenario;
}

void Print(const Scenario& scenario) {
  const auto seconds = [](Micros time) { return static_cast<double>(time.count()) / 1e6; };
  for (const PlannedTransaction& t : scenario.transactions) {
    fmt::print("  transaction {:8.3f} s, for {:.3f} s, {} rows{}{}{}{}{}{}\n", seconds(t.begin),
               seconds(t.length), t.rows, t.rolled_back ? ", rolled back" : "",
               t.savepoint ? ", savepoints" : "", t.others ? ", other tables" : "",
               t.mixed ? ", mixed" : "", t.asynchronous ? ", asynchronous" : "",
               t.of_origin ? ", of another origin" : "");
  }
  for (const Fault& fault : scenario.faults) {
    fmt::print("  fault       {:8.3f} s, for {:.3f} s, {} ({})\n", seconds(fault.at),
               seconds(fault.length), NameOf(fault.kind), fault.amount);
  }
}

}  // namespace walrelay::sim

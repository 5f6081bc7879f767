#include "shrink.h"

#include <fmt/format.h>

#include <algorithm>

namespace walrelay::sim {
namespace {

using Test = std::function<bool(const Plan&)>;

// Removes halves, quarters, … single items of a list as long as the rest still fails.
template <typename Item>
void ShrinkList(Plan& plan, std::vector<Item> Plan::*list, const Test& fails) {
  for (size_t chunk = std::max<size_t>(1, (plan.*list).size() / 2);; chunk /= 2) {
    for (size_t at = 0; at < (plan.*list).size();) {
      Plan smaller = plan;
      auto& items = smaller.*list;
      const size_t end = std::min(at + chunk, items.size());
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at),
                  items.begin() + static_cast<std::ptrdiff_t>(end));
      if (fails(smaller)) {
        plan = smaller;
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
void Try(Plan& plan, Value Plan::*member, Value value, const Test& fails) {
  Plan simpler = plan;
  simpler.*member = value;
  if (fails(simpler)) {
    plan = simpler;
  }
}

void ShrinkRows(Plan& plan, const Test& fails) {
  for (size_t i = 0; i < plan.transactions.size(); ++i) {
    while (plan.transactions[i].rows > 1) {
      Plan smaller = plan;
      smaller.transactions[i].rows /= 2;
      if (!fails(smaller)) {
        break;
      }
      plan = smaller;
    }
  }
}

}  // namespace

Plan Shrink(Plan plan, const Test& fails) {
  for (size_t before = SIZE_MAX; before != plan.faults.size() + plan.transactions.size();) {
    before = plan.faults.size() + plan.transactions.size();
    ShrinkList(plan, &Plan::faults, fails);
    ShrinkList(plan, &Plan::transactions, fails);
  }
  ShrinkRows(plan, fails);
  Try(plan, &Plan::second_relay, false, fails);
  Try(plan, &Plan::flaws, 0, fails);
  Try(plan, &Plan::topics_exist, true, fails);
  return plan;
}

void Print(const Plan& plan) {
  const auto seconds = [](Micros time) { return static_cast<double>(time.count()) / 1e6; };
  for (const PlannedTransaction& t : plan.transactions) {
    fmt::print("  transaction {:8.3f} s, for {:.3f} s, {} rows{}{}{}{}{}\n", seconds(t.begin),
               seconds(t.length), t.rows, t.rolled_back ? ", rolled back" : "",
               t.savepoint ? ", savepoints" : "", t.others ? ", other tables" : "",
               t.mixed ? ", mixed" : "", t.asynchronous ? ", asynchronous" : "");
  }
  for (const Fault& fault : plan.faults) {
    fmt::print("  fault       {:8.3f} s, for {:.3f} s, {} ({})\n", seconds(fault.at),
               seconds(fault.length), NameOf(fault.kind), fault.amount);
  }
}

}  // namespace walrelay::sim

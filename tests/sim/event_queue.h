// EventQueue: the queue of scheduled events, ordered by time.
//
// Events of the same instant run in the order in which they were scheduled, so that a history is
// deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "walrelay/clock.h"

namespace walrelay::sim {

class EventQueue {
 public:
  using Action = std::function<void()>;

  void At(MonoTime time, Action action) {
    items_.push_back({time, next_++, std::move(action)});
    std::push_heap(items_.begin(), items_.end(), Later);
  }
  bool empty() const { return items_.empty(); }
  // REQUIRES: not empty.
  MonoTime next_time() const { return items_.front().time; }
  // Removes and returns the next action. REQUIRES: not empty.
  Action Take() {
    std::pop_heap(items_.begin(), items_.end(), Later);
    Action action = std::move(items_.back().action);
    items_.pop_back();
    return action;
  }

 private:
  struct Item {
    MonoTime time;
    uint64_t number;
    Action action;
  };
  static bool Later(const Item& a, const Item& b) {
    return std::pair(a.time, a.number) > std::pair(b.time, b.number);
  }

  std::vector<Item> items_;
  uint64_t next_ = 0;
};

}  // namespace walrelay::sim

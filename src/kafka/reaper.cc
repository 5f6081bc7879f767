#include "kafka/reaper.h"

namespace walrelay {

void Reaper::Begin() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->busy < kMost; });
  ++state_->busy;
}

void Reaper::End(State& state) {
  {
    const std::lock_guard lock(state.mutex);
    --state.busy;
  }
  state.changed.notify_all();
}

bool Reaper::Wait(Micros patience) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience, [this] { return state_->busy == 0; });
}

}  // namespace walrelay

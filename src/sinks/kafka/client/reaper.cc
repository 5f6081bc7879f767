#include "sinks/kafka/client/reaper.h"

namespace walrelay {

// Waits with all other work of the caller: three clients that hang are worth noticing, a fourth
// would only use more memory.
void Reaper::Begin() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->busy < kMax; });
  ++state_->busy;
}

bool Reaper::HasRoom() {
  const std::lock_guard lock(state_->mutex);
  return state_->busy < kMax;
}

void Reaper::End(State& state) {
  {
    const std::lock_guard lock(state.mutex);
    --state.busy;
  }
  state.changed.notify_all();
}

bool Reaper::Wait(Micros timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [this] { return state_->busy == 0; });
}

}  // namespace walrelay

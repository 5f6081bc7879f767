// Reaper: destroys what takes its time to be destroyed, each object on a thread of its own.
//
// A Kafka client ends when its threads have ended, and those may be in a name lookup, a TLS
// handshake or a login. The thread that gives a client up must not wait for that.
//
// Threads: Destroy() and Wait() from one thread; the objects are destroyed on others, and must not
// refer to anything that may be gone by then.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "walrelay/clock.h"

namespace walrelay {

class Reaper {
 public:
  // So many objects are destroyed at a time; each may hold as much memory as a producer does.
  static constexpr int kMost = 3;

  Reaper() : state_(std::make_shared<State>()) {}
  // Does not wait: what is not destroyed yet is destroyed later, or ends with the process.
  ~Reaper() = default;

  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Returns at once, unless kMost objects are being destroyed: then when one of them is gone.
  template <typename Object>
  void Destroy(std::unique_ptr<Object> object) {
    Begin();
    std::thread([state = state_, object = std::move(object)]() mutable {
      object.reset();
      End(*state);
    }).detach();
  }

  // Waits until all are destroyed, for `patience` at most. False: some are not.
  bool Wait(Micros patience);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int busy = 0;  // guarded by mutex
  };

  void Begin();
  static void End(State& state);

  const std::shared_ptr<State> state_;  // threads may outlive the reaper
};

}  // namespace walrelay

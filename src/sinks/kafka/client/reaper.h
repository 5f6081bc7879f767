// Reaper: destroys objects whose destruction takes long, each on its own thread.
//
// A Kafka client ends when its threads have ended, and those may be in a name lookup, a TLS
// handshake or a login. The thread that drops a client must not wait for that.
//
// Threads: call Destroy() and Wait() from one thread. The objects are destroyed on other threads,
// and must not refer to anything that may no longer exist by then.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "walrelay/clock.h"

namespace walrelay {

class Reaper {
 public:
  // Maximum number of objects being destroyed at a time; each may hold as much memory as a
  // producer.
  static constexpr int kMax = 3;

  Reaper() : state_(std::make_shared<State>()) {}
  // Does not wait: remaining objects are destroyed later, or end with the process.
  ~Reaper() = default;

  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Returns at once, unless kMax objects are being destroyed: then it waits for one of them.
  // REQUIRES: the object's destructor may run on any thread.
  template <typename Object>
  void Destroy(std::unique_ptr<Object> object) {
    Begin();
    std::thread([scope = LogScope::Current(), state = state_,
                 object = std::move(object)]() mutable {
      const LogScope in(scope);
      object.reset();
      End(*state);
    }).detach();
  }

  // Whether Destroy() returns at once.
  bool HasRoom();

  // Waits until all objects are destroyed, at most `timeout`. False: some are not.
  bool Wait(Micros timeout);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int busy = 0;  // guarded by mutex
  };

  // Waits for a place. Started threads are detached, so this limit is what bounds their number.
  void Begin();
  static void End(State& state);

  const std::shared_ptr<State> state_;  // threads may outlive the reaper
};

}  // namespace walrelay

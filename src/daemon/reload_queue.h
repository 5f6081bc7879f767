// ReloadQueue: requests of other threads to reload the configuration, answered by the main thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

// Threads: Answer() from any thread, Serve() on the main thread.
class ReloadQueue {
 public:
  // `wake` makes the main thread call Serve(); called on other threads.
  explicit ReloadQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The answer to a request of the control socket; "reload" waits until it was served, at most
  // 1.5 seconds, because the client waits for two.
  std::string Answer(std::string_view request);
  // Calls `reload` once if anything was requested, and passes its result to all who wait.
  void Serve(const std::function<std::string()>& reload);

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable served_;
  uint64_t requested_ = 0;  // number of the last request
  uint64_t done_ = 0;       // the last request that was served
  std::string result_;      // of that request
};

}  // namespace walrelay

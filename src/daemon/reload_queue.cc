#include "daemon/reload_queue.h"

#include <chrono>

namespace walrelay {
namespace {

// Less than the client's timeout (admin/control_socket.cc).
constexpr std::chrono::milliseconds kReloadTimeout{1500};

}  // namespace

std::string ReloadQueue::Answer(std::string_view request) {
  // An answer and not a closed connection: a newer command can tell that this process is older.
  if (request != "reload") {
    return "unknown\nThis version of walrelay does not support this request.\n";
  }
  std::unique_lock lock(mutex_);
  const uint64_t number = ++requested_;
  wake_();
  const bool done = served_.wait_for(lock, kReloadTimeout, [&] { return done_ >= number; });
  return done ? result_
              : "requested\nThe reload has not been completed yet; the log has its result.\n";
}

// The lock is not held during the reload: a request that arrives meanwhile is served by the next
// one, because it may be about a later state of the files.
void ReloadQueue::Serve(const std::function<std::string()>& reload) {
  std::unique_lock lock(mutex_);
  if (requested_ == done_) {
    return;
  }
  const uint64_t number = requested_;
  lock.unlock();
  std::string result = reload();
  lock.lock();
  done_ = number;
  result_ = std::move(result);
  served_.notify_all();
}

}  // namespace walrelay

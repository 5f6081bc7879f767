#include "base/log_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>

namespace walrelay {
namespace {

// Limits of the ordinary lines: number and bytes. Beyond them the oldest are dropped and counted.
constexpr size_t kMaxLines = 8192;
constexpr size_t kMaxOrdinaryBytes = size_t{4} << 20;
// Audit lines are never dropped. At this size HasRoom() is false, and publishing waits.
constexpr size_t kMaxKeptBytes = size_t{8} << 20;
// A supervisor waits for the end of the process, and a full pipe may never be read.
constexpr std::chrono::seconds kStopTimeout{3};
// Pause between attempts to write to a blocked descriptor.
constexpr std::chrono::milliseconds kBetweenAttempts{50};
// A pipe that poll() reports as writable accepts this much without blocking (PIPE_BUF).
constexpr size_t kChunk = 4096;

}  // namespace

// Lives as long as the queue or its thread, whichever ends last.
struct LogQueue::State {
  struct Line {
    uint64_t number = 0;
    std::string text;
  };

  State(int descriptor, DroppedLine line) : fd(descriptor), dropped_line(std::move(line)) {}

  const int fd;
  const DroppedLine dropped_line;

  std::mutex mutex;
  std::condition_variable changed;
  // The following members are guarded by mutex.
  // In the order of arrival within each queue; the numbers order the two queues.
  std::deque<Line> ordinary;
  std::deque<Line> kept;
  size_t ordinary_bytes = 0;
  size_t kept_bytes = 0;
  uint64_t last_number = 0;
  uint64_t dropped = 0;
  bool stopping = false;  // write queued lines, then end
  bool given_up = false;  // end now
  bool ended = false;

  void Run();
  bool Next(std::string& out);
  bool Write(std::string_view text);
  bool Pause();
};

// The next line to write; blocks until there is one. False: end.
bool LogQueue::State::Next(std::string& out) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stopping || dropped > 0 || !ordinary.empty() || !kept.empty(); });
  if (given_up) {
    return false;
  }
  // Before the ordinary lines that are left, which are newer than the dropped ones.
  if (dropped > 0) {
    out = dropped_line(std::exchange(dropped, 0));
    return true;
  }
  // Greater than every number, so that an empty queue is never the first.
  constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
  // Merges the two queues in the order of arrival: the numbers are shared.
  const uint64_t first_ordinary = ordinary.empty() ? kNone : ordinary.front().number;
  const uint64_t first_kept = kept.empty() ? kNone : kept.front().number;
  if (first_ordinary == first_kept) {
    return false;  // both are empty, and stopping is set
  }
  const bool is_kept = first_kept < first_ordinary;
  auto& lines = is_kept ? kept : ordinary;
  out = std::move(lines.front().text);
  lines.pop_front();
  (is_kept ? kept_bytes : ordinary_bytes) -= out.size();
  return true;
}

// Waits before the next attempt. False: end.
bool LogQueue::State::Pause() {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, kBetweenAttempts, [&] { return given_up; });
}

// False: abandoned by Stop().
// Waits with poll() and not in write(): a pipe that is full would block the thread, and with it
// Stop().
bool LogQueue::State::Write(std::string_view text) {
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(kBetweenAttempts.count()));
    if (count <= 0) {
      const std::lock_guard lock(mutex);
      if (given_up) {
        return false;
      }
      continue;
    }
    const ssize_t written = ::write(fd, text.data(), std::min(text.size(), kChunk));
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      // A full disk may get room again, so the line is kept and written later.
    } else if (errno == EAGAIN || errno == ENOSPC || errno == EDQUOT) {
      if (!Pause()) {
        return false;
      }
    } else if (errno != EINTR) {
      return true;  // the descriptor has no reader
    }
  }
  return true;
}

// Outside of the lock while it writes: Put() never waits for the descriptor.
void LogQueue::State::Run() {
  for (std::string line; Next(line);) {
    line += '\n';
    if (!Write(line)) {
      break;
    }
  }
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

LogQueue::LogQueue(int fd, DroppedLine dropped_line)
    : state_(std::make_shared<State>(fd, std::move(dropped_line))),
      thread_([state = state_] { state->Run(); }) {}

LogQueue::~LogQueue() {
  Stop(kStopTimeout);
}

// The oldest lines are dropped, because the latest say what is wrong now.
void LogQueue::Put(std::string line) {
  const std::lock_guard lock(state_->mutex);
  state_->ordinary_bytes += line.size();
  state_->ordinary.push_back({++state_->last_number, std::move(line)});
  while (state_->ordinary.size() > kMaxLines ||
         (state_->ordinary_bytes > kMaxOrdinaryBytes && state_->ordinary.size() > 1)) {
    state_->ordinary_bytes -= state_->ordinary.front().text.size();
    state_->ordinary.pop_front();
    ++state_->dropped;
  }
  state_->changed.notify_all();
}

// Not bounded here: the caller has asked HasRoom() before.
void LogQueue::PutKept(std::string line) {
  const std::lock_guard lock(state_->mutex);
  state_->kept_bytes += line.size();
  state_->kept.push_back({++state_->last_number, std::move(line)});
  state_->changed.notify_all();
}

bool LogQueue::HasRoom() const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept_bytes < kMaxKeptBytes;
}

// The thread may hang in write() on a descriptor that poll() reported as writable. It is abandoned
// then: the state that it uses is shared.
void LogQueue::Stop(Micros timeout) {
  if (!thread_.joinable()) {
    return;
  }
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  const auto ended = [&] { return state_->ended; };
  if (!state_->changed.wait_for(lock, timeout, ended)) {
    state_->given_up = true;
    state_->changed.notify_all();
    // The thread ends when it next checks given_up, unless the write itself hangs.
    if (!state_->changed.wait_for(lock, 10 * kBetweenAttempts, ended)) {
      lock.unlock();
      thread_.detach();
      return;
    }
  }
  lock.unlock();
  thread_.join();
}

}  // namespace walrelay

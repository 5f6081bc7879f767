// LogQueue: a queue of lines for a file descriptor, written by a separate thread.
//
// If too many ordinary lines are queued, the queue drops the oldest and reports their number once
// there is room. Kept lines are never dropped; their number is bounded because the caller checks
// HasRoom() before each of them. Lines are written in the order of arrival.
//
// Memory: at most 8192 ordinary lines with a total of 4 MiB, and 8 MiB of kept lines plus one.
// Threads: everything except the constructor and Stop() from any thread; no call except Stop()
// waits for the descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "walrelay/clock.h"

namespace walrelay {

class LogQueue {
 public:
  // Formats the line that reports the number of dropped lines. Called on the writer's thread.
  using DroppedLine = std::function<std::string(uint64_t dropped)>;

  // `fd` is not owned, and is written to until Stop(). After a write error other than a full disk
  // the descriptor has no reader: the line is discarded.
  LogQueue(int fd, DroppedLine dropped_line);
  // Stop() with a timeout of three seconds.
  ~LogQueue();

  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // `line` without a line end.
  // Never blocks. A line larger than the limit is kept as long as it is the only one.
  void Put(std::string line);
  // REQUIRES: HasRoom() returned true since the last kept line; the queue does not check it.
  void PutKept(std::string line);
  // False while 8 MiB or more of kept lines wait.
  bool HasRoom() const;

  // Writes queued lines for at most `timeout`, and discards the rest: a blocked descriptor must
  // not block the caller.
  void Stop(Micros timeout);

 private:
  struct State;

  // Shared with the thread, which outlives this object if a write hangs.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace walrelay

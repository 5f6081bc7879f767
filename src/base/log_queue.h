// LogQueue: lines on their way to a file descriptor, written by a thread of its own.
//
// Ordinary lines may be dropped: when too many wait, the oldest of them are, and their number is
// told once there is room. Kept lines never are; their number is bounded because the caller asks
// HasRoom() before each of them. Lines are written in the order in which they came.
//
// Memory: 8192 ordinary lines of 4 MiB together, and kept lines of 8 MiB and one more. Threads: all
// but the constructor and Stop() from any thread; none of them waits for the descriptor.
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
  // The line that says how many were dropped. Called on the writer's thread.
  using DroppedLine = std::function<std::string(uint64_t dropped)>;

  // `fd` is not owned, and is written to until Stop(). Write errors other than a full disk mean
  // that nobody will ever read it: lines are then discarded.
  LogQueue(int fd, DroppedLine dropped_line);
  // Stops with a patience of three seconds.
  ~LogQueue();

  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // The line is without its line end.
  void Put(std::string line);
  void PutKept(std::string line);
  bool HasRoom() const;

  // Writes what waits, for at most `patience`, and gives up the rest: a descriptor that takes
  // nothing holds nobody up.
  void Stop(Micros patience);

 private:
  struct State;

  // Shared with the thread: where a write hangs, the thread outlives this object.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace walrelay

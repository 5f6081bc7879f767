// SignalFd: receives signals through a descriptor.
//
// Those of this process, or those that its parent passes on.
//
// Through a descriptor and not by a handler: nothing runs asynchronously, and one poll() waits for
// signals and sockets alike.
//
// Source: signalfd(2).
#pragma once

#include <initializer_list>
#include <utility>

#include "base/unique_fd.h"

namespace walrelay {

class SignalFd {
 public:
  // Blocks the signals in this thread and in all threads started afterwards. Construct it before
  // any other thread starts; otherwise that thread may receive them. They stay blocked when it is
  // destroyed.
  explicit SignalFd(std::initializer_list<int> signals);

  // The signals that another process passes on with PassSignal(). `receiver`: a socket that keeps
  // the limits of messages.
  explicit SignalFd(UniqueFd receiver) : fd_(std::move(receiver)) {}

  // Readable while a signal is pending. Owned by this object: do not read it, and do not close it.
  int fd() const { return fd_.get(); }
  // Consumes one pending signal and returns its number; 0: none. Never blocks. The kernel merges
  // signals of the same number that arrive before they are consumed.
  int Take();

 private:
  UniqueFd fd_;
};

// Passes a signal on to the process that has a SignalFd at the other end of `sender`. Never blocks:
// without room the signal is lost.
void PassSignal(int sender, int signal);

// From now on each of these signals ends the process at once with `code`, whatever its threads do:
// a handler calls _exit(). Until then they may have been blocked for a SignalFd. Call it on the
// main thread.
void ExitAtSignals(std::initializer_list<int> signals, int code);

// Ignores SIGPIPE in the whole process: the log, a socket or a pipe may lose its reader at any
// time; the write then returns EPIPE, which is handled where it is written.
void IgnoreBrokenPipes();

}  // namespace walrelay

// EventLoop: the one poll() in which the process sleeps.
//
// Over the replication socket, the producer's eventfd, a signalfd and a descriptor through which
// other threads ask for attention. SIGTERM and SIGINT drain; a second one ends at once.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "base/unique_fd.h"
#include "relay/relay.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Blocks SIGTERM and SIGINT in this thread, and in those that it starts afterwards, and makes them
// readable: to be called first of all.
class StopSignals {
 public:
  StopSignals();
  // Readable while a signal waits to be taken: what interrupts a blocking connect.
  int fd() const { return fd_.get(); }
  // Takes one, if there is one.
  bool Take();

 private:
  UniqueFd fd_;
};

class EventLoop {
 public:
  EventLoop(Relay& relay, ReplicationSource& source, const Clock& clock, StopSignals& signals);

  // Until the relay has finished. kAborted: ended by a second signal, without confirming.
  absl::Status Run();

  // From any thread: the server is shutting down.
  void ReportServerShutdown();

 private:
  void Sleep(const Wakeup& wakeup);
  void TakeRequests();

  Relay& relay_;
  ReplicationSource& source_;
  const Clock& clock_;
  StopSignals& signals_;
  UniqueFd attention_;
  std::atomic<bool> server_shutdown_{false};
};

}  // namespace walrelay

// EventLoop: the one poll() in which the process sleeps.
//
// Over the replication socket, the producer's eventfd, a signalfd and a descriptor through which
// other threads ask for attention. SIGTERM and SIGINT drain; a second one ends at once.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

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

// SIGUSR1 and SIGUSR2 likewise: what an operator on this machine may ask of a process that runs.
class OperatorSignals {
 public:
  OperatorSignals();
  int fd() const { return fd_.get(); }
  // The number of one that waits, which is then taken; 0: none.
  int Take();

 private:
  UniqueFd fd_;
};

class EventLoop {
 public:
  // Called on the loop's thread; both may be empty.
  struct Hooks {
    std::function<void()> after_turn;
    std::function<void(int)> operator_signal;
  };

  EventLoop(Relay& relay, ReplicationSource& source, const Clock& clock, StopSignals& signals,
            OperatorSignals& operator_signals, Hooks hooks);

  // Until the relay has finished. kAborted: ended by a second signal, without confirming.
  absl::Status Run();

  // What was seen of the server by a connection that is not the relay's.
  enum class Sighting : uint8_t {
    kServerShutdown = 1,
    kRetainedLimit = 2,   // the slot keeps as much log as it may, and is to be dropped then
    kSlotAlmostLost = 4,  // the server is about to give the slot up, and ends its reader for that
  };
  // From any thread.
  void Report(Sighting sighting);
  // A look at the publication that began at `begun`; a newer one replaces one that was not taken.
  void Report(const PublicationLook& look, MonoTime begun);
  // An operator accepts the gap of this name.
  void AcceptGap(std::string id);

 private:
  void Sleep(const Wakeup& wakeup);
  void TakeRequests();
  void TakeMail();

  Relay& relay_;
  ReplicationSource& source_;
  const Clock& clock_;
  StopSignals& signals_;
  OperatorSignals& operator_signals_;
  const Hooks hooks_;
  UniqueFd attention_;
  bool requested_ = true;               // a signal or another thread may have asked for something
  std::atomic<unsigned> sightings_{0};  // a bit each

  std::mutex mutex_;  // guards what follows
  std::optional<std::pair<PublicationLook, MonoTime>> look_;
  std::optional<std::string> accepted_gap_;
};

}  // namespace walrelay

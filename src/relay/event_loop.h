// EventLoop: the single poll() in which the process sleeps.
//
// It waits on the replication socket, the producer's eventfd, a signalfd, and an eventfd through
// which other threads request attention. SIGTERM and SIGINT start a drain; a second one ends the
// process at once.
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

// Blocks SIGTERM and SIGINT in this thread and in all threads started afterwards, and makes them
// readable. Construct it before any other thread starts.
class StopSignals {
 public:
  StopSignals();
  // Readable while a signal is pending; used to interrupt a blocking connect.
  int fd() const { return fd_.get(); }
  // Consumes one pending signal; false if there is none.
  bool Take();

 private:
  UniqueFd fd_;
};

// The same for SIGUSR1 and SIGUSR2: requests of an operator on this host to the running process.
class OperatorSignals {
 public:
  OperatorSignals();
  int fd() const { return fd_.get(); }
  // Consumes one pending signal and returns its number; 0: none.
  int Take();

 private:
  UniqueFd fd_;
};

// Threads: Run() occupies the relay's thread until the end. Report() and AcceptGap() may be called
// from any thread: they store the request and wake the loop, and the relay's methods are called on
// its own thread only.
//
// A descriptor is polled only while something is expected from it, and the time until the relay's
// next Wakeup is the poll's timeout: an idle process wakes up once a second.
class EventLoop {
 public:
  // Called on the loop's thread; both may be empty.
  struct Hooks {
    std::function<void()> after_turn;
    std::function<void(int)> operator_signal;
  };

  // All references must outlive the loop.
  EventLoop(Relay& relay, ReplicationSource& source, const Clock& clock, StopSignals& signals,
            OperatorSignals& operator_signals, Hooks hooks);

  // Runs until the relay has finished. kAborted: ended by a second signal, without confirming.
  absl::Status Run();

  // An observation of the server made on a connection other than the relay's.
  // Bits, so that several events that arrive within one turn are kept together.
  enum class ServerEvent : uint8_t {
    // The server waits for its walsenders before it shuts down.
    kServerShutdown = 1,
    kRetainedLimit = 2,   // the slot retains as much WAL as it may, and is to be dropped
    kSlotAlmostLost = 4,  // the server is about to invalidate the slot, and ends its reader for it
  };
  // From any thread.
  void Report(ServerEvent event);
  // A read of the publication that began at `begun`; a newer one replaces one not yet processed.
  void Report(const PublicationState& look, MonoTime begun);
  // An operator accepts the gap with this id.
  void AcceptGap(std::string id);

 private:
  // Makes the loop run another turn, from any thread.
  void Wake();
  // Blocks until a descriptor is ready or the time has come, and notes in requested_ whether a
  // request may have arrived.
  void Sleep(const Wakeup& wakeup);
  // Passes what other threads have requested to the relay.
  void HandleRequests();
  void DeliverReports();

  Relay& relay_;
  ReplicationSource& source_;
  const Clock& clock_;
  StopSignals& signals_;
  OperatorSignals& operator_signals_;
  const Hooks hooks_;
  UniqueFd attention_;
  bool requested_ = true;  // a signal or another thread may have requested something
  std::atomic<unsigned> server_events_{0};  // bit set of ServerEvent

  std::mutex mutex_;  // guards the members below
  std::optional<std::pair<PublicationState, MonoTime>> look_;
  std::optional<std::string> accepted_gap_;
};

}  // namespace walrelay

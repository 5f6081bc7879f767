// EventLoop: the single poll() in which the relay's thread sleeps.
//
// It waits on the replication socket, the sink's eventfd, the stop requests, and an eventfd
// through which other threads request attention.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/stop_request.h"
#include "base/unique_fd.h"
#include "relay/relay.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Threads: Turn() is called on the relay's thread. Report() and AcceptGap() may be called from any
// thread: they store the request and wake the loop, and the relay's methods are called on its own
// thread only.
//
// A descriptor is polled only while something is expected from it, and the time until the relay's
// next Wakeup is the poll's timeout: an idle process wakes up once a second.
class EventLoop {
 public:
  // All references must outlive the loop. `source` and `clock` are those of the relay: the loop
  // polls the descriptor of the one, and computes its timeouts with the other. A request of `stop`
  // ends a sleep; the caller takes it.
  EventLoop(Relay& relay, ReplicationSource& source, const Clock& clock, const StopRequest& stop);

  // Passes the requests of other threads to the relay, runs one of its turns, and sleeps until the
  // next one is due. Does not sleep once the relay has finished. REQUIRES: the relay has not
  // finished, and nothing else calls it meanwhile.
  void Turn();

  // An observation of the server made on a connection other than the relay's.
  // Bits, so that several events that arrive within one turn are kept together.
  enum class ServerEvent : uint8_t {
    // The server waits for its walsenders before it shuts down.
    kServerShutdown = 1,
    kRetainedLimit = 2,   // the slot retains as much WAL as it may, and is to be dropped
    kSlotAlmostLost = 4,  // the server is about to invalidate the slot, and ends its reader for it
  };
  // From any thread. An event that is reported again before the next turn counts once.
  void Report(ServerEvent event);
  // A read of the publication that began at `begun`; a newer one replaces one not yet processed.
  void Report(const PublicationState& look, MonoTime begun);
  // From any thread; a newer reading replaces one not yet processed. `begun`: as above.
  void Report(const XidReading& xids, MonoTime begun);
  // An operator accepts the gap with this id. No effect if the relay does not hold that gap when
  // the request is processed; of several requests before the next turn, the last one counts.
  void AcceptGap(std::string id);

 private:
  // Makes the loop run another turn, from any thread.
  void Wake();
  // Blocks until a descriptor is ready or the time has come, and notes in requested_ whether a
  // request may have arrived. REQUIRES: the relay has not finished.
  void Sleep(const Wakeup& wakeup);
  // Passes what other threads have requested to the relay.
  void HandleRequests();
  // Takes the requests under the lock, and calls the relay without it: no other thread waits for a
  // turn.
  void DeliverReports();

  Relay& relay_;
  ReplicationSource& source_;
  const Clock& clock_;
  const StopRequest& stop_;
  UniqueFd attention_;
  bool requested_ = true;                   // another thread may have requested something
  std::atomic<unsigned> server_events_{0};  // bit set of ServerEvent

  std::mutex mutex_;  // guards the members below
  std::optional<std::pair<PublicationState, MonoTime>> look_;
  std::optional<std::pair<XidReading, MonoTime>> xids_;
  std::optional<std::string> accepted_gap_;
};

}  // namespace walrelay

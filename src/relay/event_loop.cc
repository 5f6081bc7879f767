#include "relay/event_loop.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "walrelay/config/source.h"

namespace walrelay {

EventLoop::EventLoop(Relay& relay, ReplicationSource& source, const Clock& clock,
                     const StopRequest& stop)
    : relay_(relay),
      source_(source),
      clock_(clock),
      stop_(stop),
      attention_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  WR_CHECK(attention_.valid(), "the kernel has eventfd");
}

// Requests are handled before the turn, so that the turn acts on them. requested_ avoids a system
// call in each turn of a busy stream: the descriptor is read only after poll() has reported it.
void EventLoop::Turn() {
  if (requested_) {
    HandleRequests();
  }
  const Wakeup wakeup = relay_.Turn();
  if (!relay_.finished()) {
    Sleep(wakeup);
  }
}

void EventLoop::Wake() {
  WR_CHECK(eventfd_write(attention_.get(), 1) == 0, "the counter of an eventfd has room");
}

// ppoll() and not epoll: there are five descriptors, and the replication socket changes with each
// connection. Its timeout has nanoseconds, which Session::read_at_ needs: a pause is shorter than a
// millisecond.
void EventLoop::Sleep(const Wakeup& wakeup) {
  WR_CHECK(!relay_.finished(), "nothing wakes a relay that has finished");
  const auto source_events = static_cast<short>((wakeup.source_readable ? POLLIN : 0) |
                                                (wakeup.source_writable ? POLLOUT : 0));
  // poll() ignores a descriptor of -1. A socket without requested events is passed as -1, because
  // poll() would otherwise return at once for one that has hung up.
  const SnapshotSource* snapshots = relay_.snapshots();
  const auto snapshot_events =
      static_cast<short>(snapshots != nullptr && snapshots->wants_write() ? POLLOUT : POLLIN);
  pollfd polled[] = {{source_events != 0 ? source_.poll_fd() : -1, source_events, 0},
                     {wakeup.producer_readable ? relay_.producer_fd() : -1, POLLIN, 0},
                     {snapshots != nullptr ? snapshots->poll_fd() : -1, snapshot_events, 0},
                     {stop_.fd(), POLLIN, 0},
                     {attention_.get(), POLLIN, 0}};
  // Bytes that libpq has already read are not signalled by the socket.
  const bool at_once = wakeup.source_readable && source_.more_has_arrived();
  const auto left = at_once ? std::chrono::nanoseconds(0)
                            : std::max<std::chrono::nanoseconds>(wakeup.at - clock_.Now(),
                                                                 std::chrono::nanoseconds(0));
  const timespec timeout{std::chrono::floor<std::chrono::seconds>(left).count(),
                         static_cast<long>((left % std::chrono::seconds(1)).count())};
  WR_CHECK(timeout.tv_sec >= 0 && timeout.tv_nsec >= 0 && timeout.tv_nsec < 1'000'000'000,
           "the timeout is one that ppoll() accepts");
  const int ready = ::ppoll(polled, std::size(polled), &timeout, nullptr);
  requested_ = ready < 0 || std::rbegin(polled)->revents != 0;
}

// From any thread, and without a lock: the events are a set, and one that is reported twice before
// the next turn counts once.
void EventLoop::Report(ServerEvent event) {
  server_events_.fetch_or(static_cast<unsigned>(event), std::memory_order_release);
  Wake();
}

void EventLoop::Report(const PublicationState& look, MonoTime begun) {
  {
    // A newer reading replaces an older one: only the present state of the publication matters.
    const std::lock_guard lock(mutex_);
    look_.emplace(look, begun);
  }
  Wake();
}

void EventLoop::Report(const XidReading& xids, MonoTime begun) {
  {
    const std::lock_guard lock(mutex_);
    xids_.emplace(xids, begun);
  }
  Wake();
}

void EventLoop::AcceptGap(std::string id) {
  {
    const std::lock_guard lock(mutex_);
    accepted_gap_ = std::move(id);
  }
  Wake();
}

void EventLoop::DeliverReports() {
  std::optional<std::pair<PublicationState, MonoTime>> look;
  std::optional<std::pair<XidReading, MonoTime>> xids;
  std::optional<std::string> accepted_gap;
  {
    const std::lock_guard lock(mutex_);
    look = std::exchange(look_, std::nullopt);
    xids = std::exchange(xids_, std::nullopt);
    accepted_gap = std::exchange(accepted_gap_, std::nullopt);
  }
  if (xids) {
    relay_.OnXidsRead(xids->first, xids->second);
  }
  if (look) {
    relay_.OnPublicationSeen(look->first, look->second);
  }
  if (accepted_gap) {
    relay_.AcceptGap(*accepted_gap);
  }
}

// The counter is read first: a request that arrives afterwards makes the descriptor readable again,
// and is not lost.
void EventLoop::HandleRequests() {
  eventfd_t count = 0;
  eventfd_read(attention_.get(), &count);
  const unsigned server_events = server_events_.exchange(0, std::memory_order_acquire);
  constexpr unsigned kKnown = static_cast<unsigned>(ServerEvent::kServerShutdown) |
                              static_cast<unsigned>(ServerEvent::kRetainedLimit) |
                              static_cast<unsigned>(ServerEvent::kSlotAlmostLost);
  WR_CHECK((server_events & ~kKnown) == 0, "only known events are reported");
  const auto has = [server_events](ServerEvent event) {
    return (server_events & static_cast<unsigned>(event)) != 0;
  };
  if (has(ServerEvent::kServerShutdown)) {
    relay_.OnServerShuttingDown();
  }
  if (has(ServerEvent::kRetainedLimit)) {
    relay_.OnRetainedLimit();
  }
  if (has(ServerEvent::kSlotAlmostLost)) {
    relay_.OnSlotAlmostLost();
  }
  DeliverReports();
}

}  // namespace walrelay

// SystemdNotifier: reports the state of this process to systemd, by datagrams to $NOTIFY_SOCKET.
//
// The protocol is one sendto(), which does not justify a dependency on libsystemd. Without the
// variable every call does nothing. Never blocks. Not thread-safe.
//
// Source: sd_notify(3), sd_watchdog_enabled(3).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "walrelay/clock.h"

namespace walrelay {

class SystemdNotifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. An unusable address counts as absent.
  // REQUIRES: no other thread changes the environment. Addresses begin with "/" or "@"; vsock is
  // not supported. WATCHDOG_PID of another process means no watchdog for this one.
  static SystemdNotifier FromEnvironment();

  // One whose messages another process sends to systemd: `send` passes them on.
  static SystemdNotifier Through(std::function<void(std::string_view)> send,
                                 std::optional<Micros> watchdog);

  bool listens() const { return send_ != nullptr || socket_.valid(); }
  // How long systemd waits for WATCHDOG=1 before it terminates the process; nullopt: no watchdog.
  std::optional<Micros> watchdog() const { return watchdog_; }

  // Sends assignments, one per line: "READY=1\nSTATUS=…".
  // Best effort: a manager that does not read loses the message, and the caller does not learn of
  // it.
  void Notify(std::string_view assignments) const;

 private:
  std::function<void(std::string_view)> send_;  // empty: `socket_`
  UniqueFd socket_;
  std::string address_;  // as in the variable: a path, or @ and an abstract name
  std::optional<Micros> watchdog_;
};

}  // namespace walrelay

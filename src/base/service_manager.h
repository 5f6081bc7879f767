// ServiceManager: what systemd is told of this process, by datagrams to $NOTIFY_SOCKET.
//
// The protocol is one sendto(); libsystemd would be a dependency for nothing else. Without the
// variable every call does nothing. Never blocks. Not thread-safe.
//
// Source: sd_notify(3), sd_watchdog_enabled(3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "walrelay/clock.h"

namespace walrelay {

class ServiceManager {
 public:
  static ServiceManager FromEnvironment();

  bool listens() const { return socket_.valid(); }
  // How long it waits for a WATCHDOG=1 before it ends the process; nullopt: it does not.
  std::optional<Micros> watchdog() const { return watchdog_; }

  // Assignments, one a line: "READY=1\nSTATUS=…".
  void Tell(std::string_view assignments) const;

 private:
  UniqueFd socket_;
  std::string address_;  // as in the variable: a path, or @ and an abstract name
  std::optional<Micros> watchdog_;
};

}  // namespace walrelay

// ConnectionTable: the open connections of the HTTP listener and their ages.
//
// libmicrohttpd's timeout only limits idle time, so a peer that sends a byte from time to time
// keeps its connection, and a few dozen such connections would lock out probes. ConnectionTable
// gives every connection a deadline from its start. If one peer, or all peers together, have too
// many connections, the oldest is closed in favour of the new one. A new request is therefore never
// refused, even if a probe and an attacker have the same address (a proxy, a sidecar). A request
// takes a millisecond.
//
// A connection is closed by shutdown(2), which its owner sees as the end of the input. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>

#include "walrelay/clock.h"

namespace walrelay {

class ConnectionTable {
 public:
  // The defaults leave room for several probes, scrapers and browsers at once.
  // All are limits of open connections; a connection that was shut down does not count any more.
  struct Limits {
    size_t connections = 48;
    size_t of_one_peer = 16;  // more than libmicrohttpd accepts before it serves
    Micros lifetime = std::chrono::seconds(10);
  };

  explicit ConnectionTable(const Limits& limits) : limits_(limits) {}

  // Adds a new connection. `peer`: its address without the port. Closes other connections if there
  // are too many.
  // REQUIRES: `now` does not go backwards between calls: the list is in the order of age. `socket`
  // stays the owner's; it is shut down here at most, and never closed.
  void Add(int socket, std::string peer, MonoTime now);
  // Called before the owner closes the socket. Unknown sockets are ignored.
  void Remove(int socket);
  // Closes the connections that are past their deadline.
  void EndOverdue(MonoTime now);
  // The next deadline; nullopt if no connection is open.
  std::optional<MonoTime> NextDeadline() const;

 private:
  // An open connection. Its owner, libmicrohttpd, closes the socket.
  struct Connection {
    int socket = -1;
    std::string peer;
    MonoTime since;
    bool ended = false;  // shut down, but not yet closed by its owner
  };

  static void End(Connection& connection);
  // Closes the oldest of those that count, until `limit` are left.
  template <typename Predicate>
  void EndOldestBeyond(size_t limit, const Predicate& counts);

  const Limits limits_;
  std::list<Connection> connections_;  // the oldest first
};

}  // namespace walrelay

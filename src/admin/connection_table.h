// ConnectionTable: who is connected to the HTTP listener, and since when.
//
// libmicrohttpd's own timeout counts silence only, so a peer that sends a byte now and then keeps
// its connection, and a few dozen of them would keep probes out. Here every connection has a
// deadline from its beginning, and when a peer has too many, or all together are too many, the
// oldest makes room for the new one: a new request is never refused, also where a probe and its
// attacker come from the same address (a proxy, a sidecar). A request takes a millisecond.
//
// A connection is ended by shutdown(2), which its owner then sees as the end of its input. For one
// thread.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>

#include "walrelay/clock.h"

namespace walrelay {

class ConnectionTable {
 public:
  struct Limits {
    size_t connections = 48;
    size_t of_one_peer = 16;  // more than libmicrohttpd accepts before it serves
    Micros lifetime = std::chrono::seconds(10);
  };

  explicit ConnectionTable(const Limits& limits) : limits_(limits) {}

  // A connection has begun. `peer`: its address, without the port. Ends others where they are too
  // many.
  void Add(int socket, std::string peer, MonoTime now);
  // It is about to be closed by its owner. Unknown sockets are ignored.
  void Remove(int socket);
  // Ends those that are past their deadline.
  void EndOverdue(MonoTime now);
  // When the next one is; nullopt: none is open.
  std::optional<MonoTime> NextDeadline() const;

 private:
  struct Connection {
    int socket = -1;
    std::string peer;
    MonoTime since;
    bool ended = false;  // shut down; its owner has yet to close it
  };

  static void End(Connection& connection);
  template <typename Predicate>
  void EndOldestBeyond(size_t limit, const Predicate& counts);

  const Limits limits_;
  std::list<Connection> connections_;  // the oldest first
};

}  // namespace walrelay

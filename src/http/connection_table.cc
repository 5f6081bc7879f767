#include "http/connection_table.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace walrelay {

// shutdown() and not close(): the descriptor belongs to libmicrohttpd, and could be reused while it
// still refers to it.
void ConnectionTable::End(Connection& connection) {
  (void)::shutdown(connection.socket, SHUT_RDWR);
  connection.ended = true;
}

// Closes the oldest connections for which `counts` is true, until `limit` of them are left.
template <typename Predicate>
void ConnectionTable::EndOldestBeyond(size_t limit, const Predicate& counts) {
  const auto open = [&](const Connection& each) { return !each.ended && counts(each); };
  auto left = static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), open));
  for (Connection& each : connections_) {
    if (left <= limit) {
      return;
    }
    if (open(each)) {
      End(each);
      --left;
    }
  }
}

// The new connection is the youngest, so it is never the one that is closed.
void ConnectionTable::Add(int socket, std::string peer, MonoTime now) {
  connections_.push_back({.socket = socket, .peer = std::move(peer), .since = now});
  const std::string& newcomer = connections_.back().peer;
  EndOldestBeyond(limits_.of_one_peer,
                  [&](const Connection& each) { return each.peer == newcomer; });
  EndOldestBeyond(limits_.connections, [](const Connection&) { return true; });
}

void ConnectionTable::Remove(int socket) {
  connections_.remove_if([&](const Connection& each) { return each.socket == socket; });
}

// A client that keeps sending is never idle, so connections also have a maximum age.
void ConnectionTable::EndOverdue(MonoTime now) {
  for (Connection& each : connections_) {
    if (!each.ended && now - each.since >= limits_.lifetime) {
      End(each);
    }
  }
}

// The list is in the order of age, so the first open connection has the earliest deadline.
std::optional<MonoTime> ConnectionTable::NextDeadline() const {
  const auto next = std::find_if(connections_.begin(), connections_.end(),
                                 [](const Connection& each) { return !each.ended; });
  return next == connections_.end() ? std::nullopt : std::optional(next->since + limits_.lifetime);
}

}  // namespace walrelay

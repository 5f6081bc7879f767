// Feedback: when to send a status update, and when the server is to be taken for dead or for
// leaving.
//
// An update is due when the server asks (at most 50 times a second: it waits for us, it loses
// nothing), when the frontier has moved (soon, so that a crash repeats milliseconds; grouped, so
// that it costs nothing), and at an interval that keeps the connection alive, on a timer of its
// own: a relay that does not read because Kafka is slow still reports. A keepalive that asks for
// nothing is not answered: answering each makes the server send the next, tens of thousands a
// second.
//
// After half of wal_sender_timeout without a byte the server is asked for one; after all of it the
// connection is dead, whatever TCP says. Many requests for a reply without any progress mean that
// the server is shutting down and waits for positions that cannot come: then the relay must step
// aside.
//
// Pure: time comes in with each call. Not thread-safe.
//
// Source: Postgres, src/backend/replication/walsender.c: WalSndKeepaliveIfNecessary,
// WalSndCheckTimeOut, WalSndWaitForWal, WalSndDone.
#pragma once

#include <optional>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

enum class FeedbackCause { kRequested, kProgress, kInterval, kPing };

class Feedback {
 public:
  struct Options {
    Micros progress_delay{100'000};
    Micros longest_interval{10'000'000};
    Micros reply_spacing{20'000};
    // Of the server; 0: it never gives up on us, and we use the default of one minute for it.
    Micros wal_sender_timeout{60'000'000};
  };

  Feedback(const Options& options, MonoTime now);

  // Bytes came from the server.
  void OnReceived(MonoTime now) { last_received_ = now; }

  void OnKeepalive(MonoTime now, Lsn wal_end, bool reply_requested);

  // An update with this frontier was sent; `ping` if it asked for a reply.
  void OnSent(MonoTime now, Lsn frontier, bool ping);

  // Why an update is due now, or nullopt. kPing: with a request for a reply.
  std::optional<FeedbackCause> Due(MonoTime now, Lsn frontier) const;

  // When to ask Due() again if nothing happens before.
  MonoTime NextDue(Lsn frontier) const;

  // The server has not sent a byte for all of its timeout.
  bool ServerSilent(MonoTime now) const { return now - last_received_ >= timeout_; }

  // The server asks and asks without moving: it is shutting down.
  bool ServerLeaving() const { return stalled_requests_ > kLeavingRequests; }

 private:
  // The server asks about once in half its timeout when all is well.
  static constexpr int kLeavingRequests = 20;
  static constexpr Micros kLeavingWindow{1'000'000};

  MonoTime PingDue() const;

  Options options_;
  Micros timeout_;
  Micros interval_;
  MonoTime last_received_;
  MonoTime last_sent_;
  std::optional<MonoTime> last_ping_;
  Lsn sent_frontier_;
  bool reply_wanted_ = false;

  Lsn requested_wal_end_;
  MonoTime requests_since_;
  int stalled_requests_ = 0;
};

}  // namespace walrelay

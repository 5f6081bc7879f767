// Feedback: decides when to send a status update, and when the server is dead or shutting down.
//
// An update is due when the server requests one (at most 50 times a second: the server waits,
// nothing is lost), when the frontier has moved (soon, so that a crash repeats only milliseconds;
// batched, so that it is cheap), and at an interval that keeps the connection alive. The interval
// has its own timer: a relay that does not read because Kafka is slow still reports. A keepalive
// without a request is not answered: an answer makes the server send the next keepalive, tens of
// thousands per second.
//
// After half of wal_sender_timeout without a byte the relay requests a reply from the server; after
// all of it the connection is dead, whatever TCP reports. Many requests for a reply without
// progress mean that the server is shutting down and waits for positions that cannot be reached:
// then the relay must close the stream.
//
// Pure: the caller passes the time. Not thread-safe.
//
// Source: Postgres, src/backend/replication/walsender.c: WalSndKeepaliveIfNecessary,
// WalSndCheckTimeOut, WalSndWaitForWal, WalSndDone.
#pragma once

#include <optional>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// Why an update is sent; the label of a metric.
enum class FeedbackCause { kRequested, kProgress, kInterval, kPing };

class Feedback {
 public:
  struct Options {
    // After the frontier moved: the longest time in which a crash repeats acknowledged records.
    Micros progress_delay{100'000};
    // Between two updates; a third of the server's timeout if that is less.
    Micros longest_interval{10'000'000};
    // Between answers to requests.
    Micros reply_spacing{20'000};
    // The server's setting; 0: it never disconnects us, and we apply the default of one minute to
    // it.
    Micros wal_sender_timeout{60'000'000};
  };

  Feedback(const Options& options, MonoTime now);

  // The server sent bytes.
  void OnReceived(MonoTime now) { last_received_ = now; }

  // A keepalive arrived. `wal_end`: how far the server has sent its WAL. Requests for a reply at
  // the same position, in quick succession, are counted for ServerLeaving().
  void OnKeepalive(MonoTime now, Lsn wal_end, bool reply_requested);

  // An update with this frontier was sent; `ping`: it requested a reply.
  void OnSent(MonoTime now, Lsn frontier, bool ping);

  // Why an update is due now, or nullopt. kPing: the update must request a reply.
  std::optional<FeedbackCause> Due(MonoTime now, Lsn frontier) const;

  // When to call Due() again if nothing happens before.
  MonoTime NextDue(Lsn frontier) const;

  // How far the server had sent its WAL when it last requested a reply: what it waits for.
  Lsn requested() const { return requested_wal_end_; }

  // The server has not sent a byte for its whole timeout.
  bool ServerSilent(MonoTime now) const { return now - last_received_ >= timeout_; }

  // The server requests replies repeatedly without progress: it is shutting down.
  bool ServerLeaving() const { return stalled_requests_ > kLeavingRequests; }

 private:
  // In normal operation the server requests a reply about once in half its timeout.
  static constexpr int kLeavingRequests = 20;
  static constexpr Micros kLeavingWindow{1'000'000};

  MonoTime PingDue() const;

  // As configured and as the server reports, not 0.
  Options options_;
  Micros timeout_;
  Micros interval_;
  MonoTime last_received_;
  MonoTime last_sent_;
  std::optional<MonoTime> last_ping_;
  // The last update confirmed this: the next one must not confirm less.
  Lsn sent_frontier_;
  bool reply_wanted_ = false;

  // The requests for a reply without progress, for ServerLeaving().
  Lsn requested_wal_end_;
  MonoTime requests_since_;
  int stalled_requests_ = 0;
};

}  // namespace walrelay

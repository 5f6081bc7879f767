// ClientHealth: what a Kafka client's errors say about it: whether it has failed permanently, what
// its present trouble is, and whether a broker is reachable.
//
// Only a permanent error ends a producer. All others are transient, and librdkafka recovers from
// them itself: they are kept for display, until a broker answers again.
//
// Single-threaded: used by the producer's owner. Source: rdkafka.h, RD_KAFKA_EVENT_ERROR and
// rd_kafka_fatal_error.
#pragma once

#include <librdkafka/rdkafka.h>

#include <optional>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/config/on_error.h"

namespace walrelay {

class ClientHealth {
 public:
  enum class ErrorKind {
    kFatal,           // permanent; see fatal()
    kLoginRefused,    // the credentials may have changed
    kAllBrokersDown,  // reachable() is false from now on
    kOther,
  };

  // `client` must outlive it.
  explicit ClientHealth(rd_kafka_t* client) : client_(client) {}

  // Processes an error event of the client's main queue.
  // `event` stays the caller's. REQUIRES: its type is RD_KAFKA_EVENT_ERROR.
  ErrorKind OnError(rd_kafka_event_t* event, MonoTime now);
  // Asks the client whether it has failed permanently: its event may arrive after the reports of
  // the records that failed with it.
  void CheckFatal();
  // The producer cannot be used any more, for a reason of our own. Only the first reason is kept.
  // REQUIRES: !error.ok().
  void Fail(const absl::Status& error);

  // Another component knows why logins are refused: its error is more useful than the broker's. OK
  // changes nothing.
  void ExplainTrouble(const absl::Status& cause);

  // A broker has acknowledged a record, or answered a request after an outage.
  void OnBrokerAnswered();
  // The next login uses another password: the time of refused logins starts again.
  void OnPasswordChanged() { login_refused_since_.reset(); }

  // Why the client has failed permanently; OK while it has not.
  const absl::Status& fatal() const { return fatal_; }
  // The last transient error, for display; OK once a broker has answered.
  const absl::Status& trouble() const { return trouble_; }
  // True until an error says otherwise, also before the first connection.
  bool reachable() const { return reachable_; }
  // Whether logins have been refused for longer than `limit`.
  bool LoginRefusedFor(Micros limit, MonoTime now) const {
    return login_refused_since_ && now - *login_refused_since_ > limit;
  }

 private:
  rd_kafka_t* const client_;
  absl::Status fatal_;
  absl::Status trouble_;
  bool reachable_ = true;
  std::optional<MonoTime> login_refused_since_;
};

}  // namespace walrelay

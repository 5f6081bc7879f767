// TokenRefresher: keeps the token of a client's login to Kafka valid.
//
// Obtains the first token as soon as the client exists, and the next one when 80 % of a token's
// lifetime have passed, so that the client and its producer id last. A broker asks for a token when
// a connection opens and, with connections.max.reauth.ms, again while it is open (librdkafka 2.7
// and later; earlier versions reconnect).
//
// While no token can be obtained, the present one stays in use. Once it has expired, the client
// reports the reason as an error event, which ClientError() maps to WR-4012.
//
// Threads: the refresher has its own, because a command or a request takes seconds: no thread of
// the relay or of librdkafka waits for it. Source: rdkafka.h, rd_kafka_oauthbearer_set_token(),
// which is thread-safe. Its refresh callback is not used: it would run on a thread that polls.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "auth/token_source.h"
#include "base/backoff.h"
#include "base/worker_thread.h"
#include "walrelay/clock.h"

namespace walrelay {

// The token source and the extensions with which a client logs in.
struct TokenLogin {
  std::unique_ptr<TokenSource> source;  // nullptr: none
  std::vector<std::string> extensions;  // SASL extensions: name, value, name, value …
};

class TokenRefresher {
 public:
  // Starts the thread. REQUIRES: `client` outlives it and has the mechanism OAUTHBEARER;
  // login.source is not nullptr.
  TokenRefresher(rd_kafka_t* client, TokenLogin login);
  // Interrupts a command or a request, and waits for the thread.
  ~TokenRefresher();

  TokenRefresher(const TokenRefresher&) = delete;
  TokenRefresher& operator=(const TokenRefresher&) = delete;

  // Obtains another token after a refused login, at most every ten seconds. Does not wait. Callable
  // from any thread.
  void RefreshNow() { worker_.Wake(); }
  // Why the last attempt has failed: the cause if brokers then refuse the token. OK after success.
  // Callable from any thread.
  absl::Status failure() const;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // The body of the thread.
  void Run();
  // Obtains a token and passes it to the client. Returns how long to wait for the next attempt.
  Micros Refresh();
  absl::Status Use(const Token& token);
  Micros OnFailure(const absl::Status& error);
  // Returns the previous one.
  absl::Status SetFailure(absl::Status failure);
  // False: the refresher is being destroyed.
  bool RestUntil(SteadyTime next);

  rd_kafka_t* const client_;
  const TokenLogin login_;
  // Used by the thread only.
  Token present_;
  Backoff backoff_;
  SteadyTime last_attempt_;
  mutable std::mutex mutex_;
  absl::Status failure_;  // guarded by mutex_; already logged
  WorkerThread worker_;   // last
};

// The reason in librdkafka's report of a token that cannot be obtained; "" for another report.
std::string_view TokenFailure(std::string_view report);

}  // namespace walrelay

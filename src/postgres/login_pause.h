// LoginPause: how often a login that the server refuses is tried again.
//
// Each refused login is a line in the server's log, and counts where accounts are locked or
// addresses are banned. All connections of the process to the same server as the same user share
// the pauses.
//
// Thread-safe. The caller passes the time.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

class LoginPause {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // OK if the login may be tried now; otherwise the error with which it was refused, and when it is
  // tried again. `login` names server and user.
  absl::Status Check(const std::string& login, Time now);
  // The server refused it: pauses for a second, and twice as long after each further refusal, up to
  // 30 seconds. REQUIRES: !error.ok().
  void OnRefused(const std::string& login, const absl::Status& error, Time now);
  void OnAccepted(const std::string& login);

 private:
  struct Refused {
    absl::Status error;
    Micros pause{0};
    Time until;
  };

  std::mutex mutex_;
  std::map<std::string, Refused> refused_;  // as many as the configuration has logins
};

}  // namespace walrelay

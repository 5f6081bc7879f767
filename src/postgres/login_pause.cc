#include "postgres/login_pause.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Micros kFirstPause = std::chrono::seconds(1);
constexpr Micros kLongestPause = std::chrono::seconds(30);

}  // namespace

// The first caller after a pause tries; until its answer, the next pause keeps others away.
absl::Status LoginPause::Check(const std::string& login, Time now) {
  const std::lock_guard lock(mutex_);
  const auto found = refused_.find(login);
  if (found == refused_.end()) {
    return absl::OkStatus();
  }
  Refused& refused = found->second;
  if (now >= refused.until) {
    refused.until = now + refused.pause;
    return absl::OkStatus();
  }
  return Error(CodeOf(refused.error),
               fmt::format("{}; the next login is tried in {}", MessageOf(refused.error),
                           FormatDuration(std::chrono::duration_cast<Micros>(refused.until - now))),
               RemedyFor(refused.error));
}

void LoginPause::OnRefused(const std::string& login, const absl::Status& error, Time now) {
  WR_CHECK(!error.ok(), "a login is refused for a reason");
  const std::lock_guard lock(mutex_);
  Refused& refused = refused_[login];
  refused.pause = std::clamp(refused.pause * 2, kFirstPause, kLongestPause);
  refused.error = error;
  refused.until = now + refused.pause;
}

void LoginPause::OnAccepted(const std::string& login) {
  const std::lock_guard lock(mutex_);
  refused_.erase(login);
}

}  // namespace walrelay

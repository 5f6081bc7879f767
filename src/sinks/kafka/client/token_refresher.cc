#include "sinks/kafka/client/token_refresher.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kFailurePrefix = "Failed to acquire SASL OAUTHBEARER token: ";

constexpr Micros kFirstRetry = std::chrono::seconds(1);
constexpr Micros kMostRetry = std::chrono::seconds(30);
// A token that is refused would otherwise be requested at each of librdkafka's attempts.
constexpr Micros kLeastBetweenRefusals = std::chrono::seconds(10);

// 80 % of the rest, but at least a second: just before the expiry the rest is short. At most a day:
// an expiry far in the future is not to be trusted, and would overflow the clock.
Micros NextRefresh(WallTime expiry, WallTime now) {
  return std::clamp<Micros>((expiry - now) / 5 * 4, std::chrono::seconds(1),
                            std::chrono::hours(24));
}

}  // namespace

TokenRefresher::TokenRefresher(rd_kafka_t* client, TokenLogin login)
    : client_(client),
      login_(std::move(login)),
      backoff_(kFirstRetry, kMostRetry, std::random_device()()) {
  worker_.Start([this] { Run(); });
}

TokenRefresher::~TokenRefresher() = default;

void TokenRefresher::Run() {
  do {
    last_attempt_ = std::chrono::steady_clock::now();
  } while (RestUntil(std::chrono::steady_clock::now() + Refresh()));
}

Micros TokenRefresher::Refresh() {
  const absl::StatusOr<Token> token = login_.source->Fetch(worker_.stop_fd());
  const absl::Status used = token.ok() ? Use(*token) : token.status();
  if (!used.ok()) {
    return OnFailure(used);
  }
  if (!SetFailure(absl::OkStatus()).ok()) {
    LogInfo("token_available", "there is a valid token for the login to Kafka again");
  }
  backoff_.Reset();
  return std::min(login_.source->recheck_interval(),
                  NextRefresh(token->expiry, SystemClock().WallNow()));
}

// A file is read far more often than it changes.
absl::Status TokenRefresher::Use(const Token& token) {
  const bool known = token.value.Reveal() == present_.value.Reveal();
  present_ = token;
  if (known) {
    return absl::OkStatus();
  }
  std::vector<const char*> extensions;
  for (const std::string& part : login_.extensions) {
    extensions.push_back(part.c_str());
  }
  const int64_t expiry =
      std::chrono::floor<std::chrono::milliseconds>(token.expiry.time_since_epoch()).count();
  char reason[512];
  // The principal is not sent.
  if (rd_kafka_oauthbearer_set_token(client_, token.value.Reveal().c_str(), expiry, "walrelay",
                                     extensions.data(), extensions.size(), reason,
                                     sizeof(reason)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    present_ = Token();
    return Error(ErrorCode::kKafkaToken, Printable(reason, 200));
  }
  LogDebug("token_refreshed", "the next login to Kafka uses a new token",
           {{"expires", Rfc3339(token.expiry)}});
  return absl::OkStatus();
}

Micros TokenRefresher::OnFailure(const absl::Status& error) {
  if (absl::IsCancelled(error)) {
    return Micros(0);
  }
  if (SetFailure(error).ok()) {
    LogStatus(LogLevel::kWarning, "token_unavailable", error);
  }
  if (present_.expiry <= SystemClock().WallNow()) {
    rd_kafka_oauthbearer_set_token_failure(client_, MessageOf(error).c_str());
  }
  return backoff_.Next();
}

absl::Status TokenRefresher::SetFailure(absl::Status failure) {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, std::move(failure));
}

absl::Status TokenRefresher::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// RefreshNow() shortens the rest once: brokers may refuse the next token as well.
bool TokenRefresher::RestUntil(SteadyTime next) {
  bool shortened = false;
  while (worker_.Rest(std::chrono::ceil<Micros>(next - std::chrono::steady_clock::now()))) {
    if (std::chrono::steady_clock::now() >= next) {
      return true;
    }
    if (!std::exchange(shortened, true)) {
      next = std::min(next, last_attempt_ + kLeastBetweenRefusals);
    }
  }
  return false;
}

std::string_view TokenFailure(std::string_view report) {
  return report.starts_with(kFailurePrefix) ? report.substr(kFailurePrefix.size())
                                            : std::string_view();
}

}  // namespace walrelay

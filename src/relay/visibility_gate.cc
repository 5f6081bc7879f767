#include "relay/visibility_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "stream/xid_snapshot.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kFirstQueryRetry = milliseconds(100);
constexpr Micros kLongestQueryRetry = seconds(5);
// Between two queries about a transaction that is still running.
constexpr Micros kShortestPause = microseconds(200);
constexpr Micros kLongestPause = milliseconds(250);
constexpr int kPauseDivisor = 4;  // the pause delays an event by at most a quarter of its wait
// Maximum age of a snapshot: 2^31 transactions later it would be misread.
constexpr Micros kFresh = seconds(10);

}  // namespace

// The connection of an earlier session may be to another server.
VisibilityGate::VisibilityGate(const Parts& parts, MonoTime now)
    : parts_(parts), ask_at_(now), backoff_(kFirstQueryRetry, kLongestQueryRetry, parts.seed) {
  parts_.snapshots.Close();
  Request(now);
}

VisibilityGate::~VisibilityGate() {
  parts_.snapshots.Close();
}

// The xid that is waited for is that of the first pending message, so there is never more than one.
bool VisibilityGate::Admits(uint32_t xid, MonoTime now) {
  WR_CHECK(!waiting_for_ || waiting_since_ <= now, "time does not move backwards");
  if (Knows(xid, now)) {
    waiting_for_.reset();
    return true;
  }
  if (waiting_for_ != xid) {
    waiting_for_ = xid;
    waiting_since_ = now;
    if (error_.ok()) {
      ask_at_ = now;  // otherwise the back-off applies
    }
  }
  RequestIfDue(now);
  return false;
}

// A snapshot says nothing about transactions that ended after it was taken, but what it says about
// earlier ones stays true.
bool VisibilityGate::Knows(uint32_t xid, MonoTime now) const {
  return snapshot_ && now - taken_at_ <= kFresh && HasEnded(*snapshot_, xid);
}

absl::Status VisibilityGate::Turn(MonoTime now) {
  if (asked_at_) {
    WR_RETURN_IF_ERROR(PollSnapshot(now));
  }
  RequestIfDue(now);
  return absl::OkStatus();
}

// While a query is in progress nothing is due: its answer, or its timeout, comes first.
void VisibilityGate::RequestIfDue(MonoTime now) {
  if (!asked_at_ && waiting_for_ && now >= ask_at_) {
    Request(now);
  }
  WR_CHECK(!waiting_for_ || asked_at_ || now < ask_at_,
           "a transaction that waits has a query in progress, or one that is due later");
}

void VisibilityGate::Request(MonoTime now) {
  WR_CHECK(!asked_at_, "one query is in progress at a time");
  asked_at_ = now;
  parts_.snapshots.Request(parts_.walsender_pid);
}

// An answer that never comes is an error too: the connection may be dead without a reset.
absl::Status VisibilityGate::PollSnapshot(MonoTime now) {
  WR_CHECK(asked_at_, "a query is in progress");
  auto answer = parts_.snapshots.Poll();
  if (!answer.ok()) {
    OnError(answer.status(), now);
    // The stream itself has ended, or belongs to another server: only a new session helps.
    if (HasCode(answer.status(), ErrorCode::kConnectionLost)) {
      return answer.status();
    }
  } else if (*answer) {
    OnSnapshot(**std::move(answer), now);
  } else if (now - *asked_at_ >= parts_.answer_timeout) {
    parts_.snapshots.Close();
    OnError(Error(ErrorCode::kVisibilityUnknown,
                  fmt::format("no answer in {}", FormatDuration(parts_.answer_timeout))),
            now);
  }
  return absl::OkStatus();
}

// The first error of a series is logged; reason() shows the present one.
void VisibilityGate::OnError(const absl::Status& error, MonoTime now) {
  WR_CHECK(asked_at_ && !error.ok(), "a query has failed");
  asked_at_.reset();
  parts_.metrics.visibility_queries["failed"].Increment();
  if (error_.ok()) {
    LogStatus(LogLevel::kWarning, "visibility_unknown", error);
  }
  error_ = error;
  ask_at_ = now + backoff_.Next();
  WR_CHECK(ask_at_ > now, "a query that failed is repeated after a pause");
}

void VisibilityGate::OnSnapshot(XidSnapshot snapshot, MonoTime now) {
  WR_CHECK(asked_at_, "a query was answered");
  const MonoTime asked_at = *std::exchange(asked_at_, std::nullopt);
  if (!std::exchange(error_, absl::OkStatus()).ok()) {
    LogInfo("visibility_known", "Postgres answers visibility queries again");
  }
  backoff_.Reset();
  snapshot_ = std::move(snapshot);
  // The time of the request, because the server took the snapshot at an unknown time after it.
  taken_at_ = asked_at;
  const bool known = waiting_for_ && Knows(*waiting_for_, now);
  const bool early = !waiting_for_ || asked_at < waiting_since_;
  parts_.metrics.visibility_queries[early ? "early" : known ? "visible" : "running"].Increment();
  if (!waiting_for_) {
    return;
  }
  if (known) {
    parts_.metrics.visibility_wait_seconds->Increment(
        std::chrono::duration<double>(now - waiting_since_).count());
    waiting_for_.reset();
    return;
  }
  // A snapshot requested before the BEGIN arrived may be older than the commit: ask again at once.
  const Micros pause =
      std::clamp((now - waiting_since_) / kPauseDivisor, kShortestPause, kLongestPause);
  ask_at_ = early ? now : now + pause;
}

// Without a transaction that waits, an idle gate sends no query.
MonoTime VisibilityGate::NextDue() const {
  if (asked_at_) {
    return *asked_at_ + parts_.answer_timeout;
  }
  return waiting_for_ ? ask_at_ : MonoTime::max();
}

absl::Status VisibilityGate::reason(MonoTime now) const {
  if (!waiting_for_) {
    return absl::OkStatus();
  }
  if (!error_.ok()) {
    return error_;
  }
  return Error(ErrorCode::kVisibilityUnknown,
               fmt::format("transaction {} was flushed {} ago and has not become visible yet",
                           *waiting_for_, FormatDuration(now - waiting_since_)),
               "A commit waits for its synchronous standbys: SELECT pid, query FROM "
               "pg_stat_activity WHERE wait_event = 'SyncRep'; check that they are running, and "
               "that synchronous_standby_names does not name walrelay.");
}

}  // namespace walrelay

#include "admin/pages.h"

#include <fmt/format.h>

#include "base/text.h"
#include "txn/slot_alarm.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kUnavailable = 503;

// A turn takes milliseconds; only connecting blocks, for some seconds.
constexpr std::chrono::seconds kLongestTurn{90};

constexpr char kJson[] = "application/json; charset=utf-8";

// Says nothing of Postgres or Kafka: to end this process mends neither.
HttpResponse Live(const StatusBoard& board, const Clock& clock) {
  const Micros silent = clock.Now() - board.last_beat();
  if (silent < kLongestTurn) {
    return {.status = kOk, .body = "alive\n"};
  }
  return {.status = kUnavailable,
          .body = fmt::format("the relay's loop has not run for {}\n", HumanDuration(silent))};
}

HttpResponse Started(const StatusBoard& board) {
  if (board.Read().state == RelayState::kStarting) {
    return {.status = kUnavailable, .body = "the first attempt to connect is under way\n"};
  }
  return {.status = kOk, .body = "started\n"};
}

// One line for each thing that readiness depends on.
std::string Checks(const StatusSnapshot& snapshot) {
  const auto line = [](bool good, std::string_view what) {
    return fmt::format("[{}] {}\n", good ? "+" : "-", Printable(what));
  };
  std::string out =
      line(IsReady(snapshot.relay.state), fmt::format("relay: {}", NameOf(snapshot.relay.state)));
  out += line(snapshot.source_problem.ok(),
              fmt::format("publication and tables: {}",
                          snapshot.source_problem.ok() ? "as they should be" : "see below"));
  if (!snapshot.slot) {
    return out + "[ ] slot: not looked at yet\n";
  }
  const SlotSample& slot = *snapshot.slot;
  return out + (slot.exists
                    ? line(slot.risk < SlotRisk::kCritical,
                           fmt::format("slot: {} of log retained, risk {}",
                                       HumanBytes(slot.retained_bytes()), NameOf(slot.risk)))
                    : "[ ] slot: there is none\n");
}

HttpResponse Ready(const StatusBoard& board, bool verbose) {
  const StatusSnapshot snapshot = board.Snapshot();
  const bool ready = IsReady(snapshot);
  std::string body =
      fmt::format("{}: {}\n", ready ? "ready" : "not ready", NameOf(snapshot.relay.state));
  if (verbose) {
    body += Checks(snapshot);
  }
  const absl::Status slot = snapshot.slot ? RiskOf(*snapshot.slot) : absl::OkStatus();
  for (const absl::Status& problem : {snapshot.relay.error, snapshot.source_problem, slot}) {
    if (!problem.ok()) {
      body += verbose ? fmt::format("{}\n", Explain(problem))
                      : fmt::format("{} {}\n", ToString(CodeOf(problem)),
                                    Printable(MessageOf(problem)));
    }
  }
  if (verbose && !snapshot.relay.detail.empty()) {
    body += Printable(snapshot.relay.detail) + "\n";
  }
  return {.status = ready ? kOk : kUnavailable, .body = std::move(body)};
}

// The form of MicroProfile Health, which Debezium Server's probes and dashboards know.
HttpResponse Health(const HttpResponse& answer) {
  const std::string_view status = answer.status == kOk ? "UP" : "DOWN";
  return {
      .status = answer.status,
      .content_type = kJson,
      .body = fmt::format(R"({{"status":"{0}","checks":[{{"name":"walrelay","status":"{0}"}}]}})"
                          "\n",
                          status)};
}

}  // namespace

std::map<std::string, HttpHandler> Pages(const StatusIdentity& identity, const StatusBoard& board,
                                         const Metrics& metrics, const Clock& clock) {
  const auto live = [&](bool) { return Live(board, clock); };
  const auto ready = [&](bool verbose) { return Ready(board, verbose); };
  const auto health_ready = [&](bool) { return Health(Ready(board, false)); };
  const auto report = [&, identity] {
    return StatusReport{.identity = identity, .now = clock.WallNow(), .snapshot = board.Snapshot()};
  };
  return {
      {"/livez", live},
      {"/healthz", live},
      {"/readyz", ready},
      {"/startupz", [&](bool) { return Started(board); }},
      {"/q/health", health_ready},
      {"/q/health/ready", health_ready},
      {"/q/health/live", [&](bool) { return Health(Live(board, clock)); }},
      {"/metrics",
       [&](bool) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
      {"/status",
       [report](bool) {
         return HttpResponse{.content_type = "text/html; charset=utf-8",
                             .body = StatusPage(report())};
       }},
      {"/status.json",
       [report](bool) {
         return HttpResponse{.content_type = kJson, .body = StatusJson(report())};
       }},
      {"/status.txt", [report](bool) { return HttpResponse{.body = StatusText(report())}; }},
  };
}

}  // namespace walrelay

#include "admin/pages.h"

#include <fmt/format.h>

#include "base/text.h"
#include "slot/slot_risk_classifier.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kUnavailable = 503;

// An iteration of the main loop takes milliseconds; only connecting blocks, for some seconds.
constexpr std::chrono::seconds kLongestTurn{90};

constexpr char kJson[] = "application/json; charset=utf-8";

// Does not depend on Postgres or Kafka: a restart of this process would fix neither.
HttpResponse Live(const StatusBoard& board, const Clock& clock) {
  const Micros silent = clock.Now() - board.last_beat();
  if (silent < kLongestTurn) {
    return {.status = kOk, .body = "alive\n"};
  }
  return {.status = kUnavailable,
          .body = fmt::format("the main loop has not run for {}\n", FormatDuration(silent))};
}

// The first attempt may fail: a process that retries has started.
HttpResponse Started(const StatusBoard& board) {
  if (board.Read().state == RelayState::kStarting) {
    return {.status = kUnavailable, .body = "the first connection attempt is in progress\n"};
  }
  return {.status = kOk, .body = "started\n"};
}

// The result of the last check and its age. Only a current, successful check is marked "+".
std::string Check(std::string_view subject, bool good, std::string_view finding,
                  const std::optional<WallTime>& look, const SamplerStatus& sampler, WallTime now) {
  const bool current = sampler.IsCurrent(look, now);
  std::string text = fmt::format("{}: {}", subject, look ? finding : "not checked yet");
  if (look) {
    text += fmt::format(", checked {} ago", FormatDuration(now - *look));
  }
  if (!current && !sampler.failure.ok()) {
    text += fmt::format(" ({} {})", ToString(CodeOf(sampler.failure)), MessageOf(sampler.failure));
  }
  // "-" known to be bad, "+" known to be good, "?" not known.
  return fmt::format("[{}] {}\n", look && !good ? "-" : current ? "+" : "?", Printable(text));
}

// One line for each condition of readiness.
// As `kubectl get --raw /readyz?verbose` prints them.
std::string Checks(const StatusSnapshot& snapshot, WallTime now) {
  std::string out = fmt::format("[{}] relay: {}\n", IsReady(snapshot.relay.state) ? "+" : "-",
                                NameOf(snapshot.relay.state));
  out += Check("publication and tables", snapshot.source_problem.ok(),
               snapshot.source_problem.ok() ? "as required" : "see below",
               snapshot.sampler.publication, snapshot.sampler, now);
  const auto& slot = snapshot.slot;
  return out + Check("slot", !slot || (slot->exists && slot->risk < SlotRisk::kCritical),
                     slot && slot->exists
                         ? fmt::format("{} of WAL retained, risk {}",
                                       HumanBytes(slot->retained_bytes()), NameOf(slot->risk))
                         : "does not exist",
                     snapshot.sampler.slot, snapshot.sampler, now);
}

// Code and message by default, because probes show little; meaning and remedy with ?verbose.
HttpResponse Ready(const PipelineIdentity& pipeline, const StatusBoard& board,
                   const PageRequest& request, WallTime now) {
  const StatusSnapshot snapshot = board.Snapshot();
  const bool verbose = request.verbose;
  const bool ready = IsReady(snapshot);
  std::string body =
      fmt::format("{}: {}\n", ready ? "ready" : "not ready", NameOf(snapshot.relay.state));
  // Only the status code and the state: problems quote rows, which a page of another site must not
  // read.
  if (request.foreign_host) {
    return {.status = ready ? kOk : kUnavailable, .body = std::move(body)};
  }
  if (verbose) {
    body += Printable(fmt::format("source {}, slot {}", pipeline.source, pipeline.slot)) + "\n";
    body += Checks(snapshot, now);
  }
  const absl::Status slot = snapshot.slot ? RiskStatus(*snapshot.slot) : absl::OkStatus();
  for (const absl::Status& problem : {snapshot.relay.error, snapshot.source_problem, slot}) {
    if (!problem.ok()) {
      body += verbose ? fmt::format("{}\n", Explain(problem))
                      : fmt::format("{} {}\n", ToString(CodeOf(problem)),
                                    Printable(MessageOf(problem)));
    }
  }
  if ((verbose || snapshot.relay.gap) && !snapshot.relay.detail.empty()) {
    body += Printable(snapshot.relay.detail) + "\n";
  }
  return {.status = ready ? kOk : kUnavailable, .body = std::move(body)};
}

// Serves a page with row data; rejects requests under the Host of a foreign site.
HttpHandler ForThisHost(std::function<HttpResponse()> page) {
  return [page = std::move(page)](const PageRequest& request) {
    if (!request.foreign_host) {
      return page();
    }
    return HttpResponse{
        .status = kMisdirected,
        .body =
            "rejected: this page is served only under an IP address or a local name in the Host "
            "header; a proxy can set Host: localhost\n"};
  };
}

// The MicroProfile Health format, as probes and dashboards of Debezium Server expect it.
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

// The handlers refer to the arguments, which outlive the server, and copy the identity.
std::map<std::string, HttpHandler> StatusEndpoints(const StatusIdentity& identity,
                                                   const StatusBoard& board,
                                                   const MetricsRegistry& metrics,
                                                   const Clock& clock) {
  const auto live = [&](const PageRequest&) { return Live(board, clock); };
  const auto ready = [&, pipeline = identity.pipeline](const PageRequest& request) {
    return Ready(pipeline, board, request, clock.WallNow());
  };
  const auto health_ready = [ready](const PageRequest&) { return Health(ready({})); };
  const auto report = [&, identity] {
    return StatusReport{.identity = identity, .now = clock.WallNow(), .snapshot = board.Snapshot()};
  };
  return {
      {"/livez", live},
      {"/healthz", live},
      {"/readyz", ready},
      {"/startupz", [&](const PageRequest&) { return Started(board); }},
      {"/q/health", health_ready},
      {"/q/health/ready", health_ready},
      {"/q/health/live", [&](const PageRequest&) { return Health(Live(board, clock)); }},
      {"/metrics",
       [&](const PageRequest&) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
      {"/status", ForThisHost([report] {
         return HttpResponse{.content_type = "text/html; charset=utf-8",
                             .body = StatusPage(report())};
       })},
      {"/status.json", ForThisHost([report] {
         return HttpResponse{.content_type = kJson, .body = StatusJson(report())};
       })},
      {"/status.txt", ForThisHost([report] { return HttpResponse{.body = StatusText(report())}; })},
  };
}

}  // namespace walrelay

#include "admin/pages.h"

#include <fmt/format.h>

#include "base/text.h"
#include "slot/slot_risk_classifier.h"
#include "status/fleet_report.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kNotFound = 404;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kUnavailable = 503;

// An iteration of the main loop takes milliseconds; only connecting blocks, for some seconds.
constexpr std::chrono::seconds kLongestTurn{90};

constexpr char kJsonType[] = "application/json; charset=utf-8";

std::string NameFor(const ListedPipeline& pipeline) {
  return pipeline.name.empty() ? "" : fmt::format("{}: ", pipeline.name);
}

// Does not depend on Postgres or Kafka: a restart of this process would fix neither.
HttpResponse Live(const PipelineList& pipelines, const Clock& clock) {
  std::string silent;
  for (const ListedPipeline& each : pipelines.Get()) {
    const Micros age = clock.Now() - each.board->last_beat();
    if (each.running && age >= kLongestTurn) {
      silent +=
          fmt::format("{}the main loop has not run for {}\n", NameFor(each), FormatDuration(age));
    }
  }
  return silent.empty() ? HttpResponse{.status = kOk, .body = "alive\n"}
                        : HttpResponse{.status = kUnavailable, .body = std::move(silent)};
}

// The first attempt may fail: a process that retries has started.
HttpResponse Started(const PipelineList& pipelines) {
  std::string starting;
  for (const ListedPipeline& each : pipelines.Get()) {
    if (each.running && each.board->Read().state == RelayState::kStarting) {
      starting += fmt::format("{}the first connection attempt is in progress\n", NameFor(each));
    }
  }
  return starting.empty() ? HttpResponse{.status = kOk, .body = "started\n"}
                          : HttpResponse{.status = kUnavailable, .body = std::move(starting)};
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
HttpResponse Ready(const ListedPipeline& pipeline, const PageRequest& request, WallTime now) {
  const StatusSnapshot snapshot = pipeline.Snapshot();
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
    const PipelineIdentity& identity = pipeline.identity.pipeline;
    body += Printable(fmt::format("source {}, slot {}", identity.source, identity.slot)) + "\n";
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

// Ready if all are; the reasons of those that are not.
HttpResponse FleetReady(const PipelineList& pipelines, const PageRequest& request, WallTime now) {
  size_t ready = 0;
  std::string reasons;
  const std::vector<ListedPipeline> all = pipelines.Get();
  for (const ListedPipeline& each : all) {
    const HttpResponse one = Ready(each, request, now);
    ready += one.status == kOk ? 1 : 0;
    if (one.status != kOk || request.verbose) {
      reasons += NameFor(each) + one.body;
    }
  }
  const bool good = ready == all.size();
  return {.status = good ? kOk : kUnavailable,
          .body = fmt::format("{}: {} of {} pipelines\n{}", good ? "ready" : "not ready", ready,
                              all.size(), reasons)};
}

// A page with row data is not served under the Host of a foreign site.
HttpResponse Misdirected() {
  return {.status = kMisdirected,
          .body =
              "rejected: this page is served only under an IP address or a local name in the Host "
              "header; a proxy can set Host: localhost\n"};
}

StatusReport ReportOf(const ListedPipeline& pipeline, WallTime now) {
  return {.identity = pipeline.identity, .now = now, .snapshot = pipeline.Snapshot()};
}

// The formats of a status page, by the extension of its path.
enum class StatusFormat { kPage, kJson, kText };

HttpResponse Show(StatusFormat format, std::string text) {
  switch (format) {
    case StatusFormat::kPage:
      return {.content_type = "text/html; charset=utf-8", .body = std::move(text)};
    case StatusFormat::kJson:
      return {.content_type = kJsonType, .body = std::move(text)};
    case StatusFormat::kText:
      break;
  }
  return {.body = std::move(text)};
}

HttpResponse ShowPipeline(StatusFormat format, const StatusReport& report) {
  switch (format) {
    case StatusFormat::kPage:
      return Show(format, StatusPage(report));
    case StatusFormat::kJson:
      return Show(format, StatusJson(report));
    case StatusFormat::kText:
      break;
  }
  return Show(format, StatusText(report));
}

HttpResponse ShowFleet(StatusFormat format, const PipelineList& pipelines, WallTime now) {
  FleetReport report{.version = std::string(Version()), .now = now};
  for (const ListedPipeline& each : pipelines.Get()) {
    report.pipelines.push_back({each.name, ReportOf(each, now)});
  }
  switch (format) {
    case StatusFormat::kPage:
      return Show(format, FleetPage(report));
    case StatusFormat::kJson:
      return Show(format, FleetJson(report));
    case StatusFormat::kText:
      break;
  }
  return Show(format, FleetText(report));
}

// The only pipeline, or all of them. The list has the only one from the start.
HttpHandler StatusHandler(StatusFormat format, const PipelineList& pipelines, bool fleet,
                          const Clock& clock) {
  return [=, &pipelines, &clock](const PageRequest& request) {
    if (request.foreign_host) {
      return Misdirected();
    }
    const std::vector<ListedPipeline> all = fleet ? std::vector<ListedPipeline>() : pipelines.Get();
    return all.empty() ? ShowFleet(format, pipelines, clock.WallNow())
                       : ShowPipeline(format, ReportOf(all.front(), clock.WallNow()));
  };
}

std::optional<ListedPipeline> Find(const PipelineList& pipelines, std::string_view name) {
  for (ListedPipeline& each : pipelines.Get()) {
    if (each.name == name) {
      return std::move(each);
    }
  }
  return std::nullopt;
}

HttpResponse NoPipeline() {
  return {.status = kNotFound, .body = "no such pipeline; /status lists them\n"};
}

// NAME, NAME.json or NAME.txt. A pipeline may itself have a name with such an end.
HttpResponse NamedStatus(const PipelineList& pipelines, std::string_view path, WallTime now) {
  constexpr std::pair<std::string_view, StatusFormat> kFormats[] = {
      {"", StatusFormat::kPage}, {".json", StatusFormat::kJson}, {".txt", StatusFormat::kText}};
  for (const auto& [extension, format] : kFormats) {
    if (!path.ends_with(extension)) {
      continue;
    }
    if (const auto found = Find(pipelines, path.substr(0, path.size() - extension.size()))) {
      return ShowPipeline(format, ReportOf(*found, now));
    }
  }
  return NoPipeline();
}

// The MicroProfile Health format, as probes and dashboards of Debezium Server expect it.
HttpResponse Health(const HttpResponse& answer) {
  const std::string_view status = answer.status == kOk ? "UP" : "DOWN";
  return {
      .status = answer.status,
      .content_type = kJsonType,
      .body = fmt::format(R"({{"status":"{0}","checks":[{{"name":"walrelay","status":"{0}"}}]}})"
                          "\n",
                          status)};
}

}  // namespace

std::map<std::string, HttpHandler> StatusEndpoints(const PipelineList& pipelines, bool fleet,
                                                   const MetricsRegistry& metrics,
                                                   const Clock& clock) {
  const auto live = [&](const PageRequest&) { return Live(pipelines, clock); };
  const auto ready = [&, fleet](const PageRequest& request) {
    const std::vector<ListedPipeline> all = fleet ? std::vector<ListedPipeline>() : pipelines.Get();
    return all.empty() ? FleetReady(pipelines, request, clock.WallNow())
                       : Ready(all.front(), request, clock.WallNow());
  };
  const auto health_ready = [ready](const PageRequest&) { return Health(ready({})); };
  const auto status = [&, fleet](StatusFormat format) {
    return StatusHandler(format, pipelines, fleet, clock);
  };
  return {
      {"/livez", live},
      {"/healthz", live},
      {"/readyz", ready},
      {"/readyz/",
       [&](const PageRequest& request) {
         const auto found = Find(pipelines, request.rest);
         return found ? Ready(*found, request, clock.WallNow()) : NoPipeline();
       }},
      {"/startupz", [&](const PageRequest&) { return Started(pipelines); }},
      {"/q/health", health_ready},
      {"/q/health/ready", health_ready},
      {"/q/health/live", [live](const PageRequest& request) { return Health(live(request)); }},
      {"/metrics",
       [&](const PageRequest&) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
      {"/status", status(StatusFormat::kPage)},
      {"/status.json", status(StatusFormat::kJson)},
      {"/status.txt", status(StatusFormat::kText)},
      {"/status/",
       [&](const PageRequest& request) {
         return request.foreign_host ? Misdirected()
                                     : NamedStatus(pipelines, request.rest, clock.WallNow());
       }},
  };
}

}  // namespace walrelay

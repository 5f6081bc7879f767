#include "cli/health_pages.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kUnavailable = 503;

// A turn takes milliseconds; only connecting blocks, for some seconds.
constexpr std::chrono::seconds kLongestTurn{90};

// Says nothing of Postgres or Kafka: to end this process mends neither.
HttpResponse Live(const StatusBoard& board, const Clock& clock) {
  const Micros silent = clock.Now() - board.last_beat();
  if (silent < kLongestTurn) {
    return {.status = kOk, .body = "alive\n"};
  }
  return {.status = kUnavailable,
          .body = fmt::format("the relay's loop has not run for {}\n", HumanDuration(silent))};
}

HttpResponse Ready(const StatusBoard& board, bool verbose) {
  const RelayStatus status = board.Read();
  const absl::Status source = board.source_problem();
  const bool ready = board.ready();
  std::string body = fmt::format("{}: {}\n", ready ? "ready" : "not ready", NameOf(status.state));
  for (const absl::Status& problem : {status.error, source}) {
    if (!problem.ok()) {
      body += verbose ? fmt::format("{}\n", Explain(problem))
                      : fmt::format("{} {}\n", ToString(CodeOf(problem)),
                                    Printable(MessageOf(problem)));
    }
  }
  if (verbose && !status.detail.empty()) {
    body += Printable(status.detail) + "\n";
  }
  return {.status = ready ? kOk : kUnavailable, .body = std::move(body)};
}

}  // namespace

std::map<std::string, HttpHandler> HealthPages(const StatusBoard& board, const Metrics& metrics,
                                               const Clock& clock) {
  return {
      {"/livez", [&](bool) { return Live(board, clock); }},
      {"/readyz", [&](bool verbose) { return Ready(board, verbose); }},
      {"/metrics",
       [&](bool) {
         return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                             .body = metrics.Text()};
       }},
  };
}

}  // namespace walrelay

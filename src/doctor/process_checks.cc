#include "doctor/process_checks.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/process_memory.h"
#include "base/text.h"
#include "http/http_client.h"
#include "postgres/connection.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// The relay is expected on this host; a hanging process must not stop the diagnosis.
constexpr std::chrono::seconds kHttpTimeout{2};
// The usual soft limit of a login session; units and containers often have a lower one by mistake.
constexpr rlim_t kFewFiles = 1024;
// The memory of a relay beside the records in flight, which count twice: librdkafka holds each
// record and its copy in a send buffer.
constexpr int64_t kOwnMemory = int64_t{48} << 20;
// Memory per byte of kafka.max_record_bytes for the costliest document that is parsed
// (docs/delivery.md, Memory).
constexpr int64_t kJsonFactor = 320;
// A commit that is flushed immediately is sent within a few milliseconds.
// In seconds.
constexpr double kLateAtPostgres = 0.05;
constexpr double kTransactionsToJudgeBy = 20;

void CheckLibraries(const Config& config, SinkDiagnosis& sink, Findings& out) {
  const SinkLibrary library = MakeSinkFactory(config)->library();
  out.Good("process.libraries", fmt::format("{} {}, libpq {}.{}", library.name, library.version,
                                            LibpqVersion() / 10000, LibpqVersion() % 10000));
  sink.CheckLibrary();
}

void CheckLimits(const Config& config, Findings& out) {
  // The limit of this process. That of the relay may differ if a service manager sets it.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFewFiles) {
    out.Warn("process.files",
             fmt::format("this process may open {} files; librdkafka needs one for each broker",
                         files.rlim_cur),
             "LimitNOFILE=65536 in the unit, or ulimit -n 65536.");
  }
  const std::optional<uint64_t> limit = MemoryLimit();
  const bool takes_json_apart =
      config.format.expand_json || !config.source.message_prefixes.empty();
  // Twice the window, because librdkafka holds each record and its copy in a send buffer.
  const int64_t wanted = kOwnMemory + 2 * config.pipeline.max_in_flight_bytes +
                         (takes_json_apart ? kJsonFactor * config.limits().max_record_bytes : 0);
  if (limit && *limit < static_cast<uint64_t>(wanted)) {
    out.Warn("process.memory",
             fmt::format("this container may use {}; with pipeline.max_in_flight_bytes = {} it may "
                         "need {}{}",
                         HumanBytes(*limit),
                         HumanBytes(static_cast<uint64_t>(config.pipeline.max_in_flight_bytes)),
                         HumanBytes(static_cast<uint64_t>(wanted)),
                         takes_json_apart ? ", most of it for a row of very dense JSON" : ""),
             takes_json_apart ? "Raise the container's memory, or lower kafka.max_record_bytes or "
                                "pipeline.max_in_flight_bytes."
                              : "Raise the container's memory, or lower "
                                "pipeline.max_in_flight_bytes.");
  }
}

// The value of a stage's series on a page of metrics; 0 if the series is missing.
// No parser of the exposition format: the page is the relay's own, with one line per series.
double SeriesOf(std::string_view page, std::string_view name, std::string_view stage) {
  const std::string label = fmt::format("stage=\"{}\"", stage);
  for (size_t at = page.find(name); at != std::string_view::npos; at = page.find(name, at + 1)) {
    const std::string_view line = page.substr(at, page.find('\n', at) - at);
    const size_t value = line.rfind(' ');
    // The brace right after the name excludes series whose name only begins with `name`.
    if (line.substr(name.size()).starts_with('{') && line.find(label) != std::string_view::npos &&
        value != std::string_view::npos) {
      return std::strtod(std::string(line.substr(value + 1)).c_str(), nullptr);
    }
  }
  return 0;
}

constexpr std::string_view kStageCount = "walrelay_stage_latency_seconds_count";

// The mean since the relay started; nullopt if there is no measurement.
std::optional<double> MeanOf(std::string_view page, std::string_view stage) {
  const double count = SeriesOf(page, kStageCount, stage);
  if (count <= 0) {
    return std::nullopt;
  }
  return SeriesOf(page, "walrelay_stage_latency_seconds_sum", stage) / count;
}

std::string Shown(double seconds) {
  return FormatDuration(std::chrono::duration_cast<Micros>(std::chrono::duration<double>(seconds)));
}

// Latency by stage, as measured by the running relay.
void CheckStages(const Config& config, Findings& out) {
  // No finding without an answer: CheckRelay() has already reported a relay that does not respond.
  // A relay that has measured nothing yet has no series.
  const auto page = HttpGet(config.http.listen, "/metrics", kHttpTimeout);
  if (!page.ok() || page->status != 200) {
    return;
  }
  const auto postgres = MeanOf(page->body, "postgres");
  const auto relay = MeanOf(page->body, "relay");
  const auto kafka = MeanOf(page->body, "kafka");
  if (!postgres || !relay || !kafka) {
    return;
  }
  const std::string text = fmt::format(
      "from commit to acknowledgement, on average since the relay started: Postgres {}, "
      "walrelay and the network {}, Kafka {}",
      Shown(*postgres), Shown(*relay), Shown(*kafka));
  const double measured = SeriesOf(page->body, kStageCount, "postgres");
  // A few transactions right after a start say nothing: the backlog dominates them.
  if (measured >= kTransactionsToJudgeBy && *postgres > kLateAtPostgres && *postgres > *kafka) {
    out.Warn(
        "latency.stages", text,
        "The largest share is Postgres: sessions that commit with synchronous_commit = off "
        "(their commits wait for the WAL writer), or large transactions, which are decoded when "
        "they commit. Catching up with a backlog counts here too.");
  } else {
    out.Good("latency.stages", text);
  }
}

void CheckRelay(const Config& config, Findings& out) {
  if (config.http.listen.empty()) {
    return;
  }
  const auto ready = HttpGet(config.http.listen, "/readyz", kHttpTimeout);
  if (!ready.ok()) {
    out.Warn("process.relay",
             fmt::format("no relay responds at {}: its state is unknown", config.http.listen),
             "Start walrelay run if none is running; or give the relay's address with --set "
             "http.listen=ADDRESS:PORT.");
    return;
  }
  // The server at the address may not be walrelay: its text is printed with escapes.
  const std::string says(ready->body.substr(0, ready->body.find('\n')));
  if (ready->status == 200) {
    out.Good("process.relay",
             fmt::format("the relay at {} reports: {}", config.http.listen, Printable(says, 200)));
  } else {
    out.Warn("process.relay",
             fmt::format("the relay at {} reports: {}", config.http.listen, Printable(says, 200)),
             "walrelay status");
  }
  CheckStages(config, out);
}

}  // namespace

void CheckProcess(const Config& config, SinkDiagnosis& sink, Findings& out) {
  CheckLibraries(config, sink, out);
  CheckLimits(config, out);
  CheckRelay(config, out);
}

}  // namespace walrelay

#include "doctor/process_checks.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdlib>
#include <fstream>

#include "admin/http_client.h"
#include "base/text.h"
#include "kafka/conf.h"
#include "kafka/known_defects.h"
#include "postgres/connection.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr rlim_t kFewFiles = 1024;
// What a relay needs beside what is in flight, which librdkafka holds once and sends once.
constexpr int64_t kOwnMemory = int64_t{48} << 20;
// The costliest document that is taken apart, by kafka.max_record_bytes (docs/delivery.md, Memory).
constexpr int64_t kJsonFactor = 320;
// A commit that is flushed at once is sent within a few milliseconds.
constexpr double kLateAtPostgres = 0.05;
constexpr double kTransactionsToJudgeBy = 20;

void CheckLibraries(const KafkaConfig& kafka, Findings& out) {
  const std::string librdkafka = LibrdkafkaVersion();
  out.Good("process.libraries", fmt::format("librdkafka {}, libpq {}.{}", librdkafka,
                                            LibpqVersion() / 10000, LibpqVersion() % 10000));
  for (const KnownDefect& defect : KnownDefectsOf(LibrdkafkaVersionNumber(), kafka)) {
    out.Warn("process.libraries",
             fmt::format("librdkafka {} has a known defect: {}", librdkafka, defect.effect),
             fmt::format("Install librdkafka {} or later; Debian 13 and the image have 2.8.0.",
                         defect.fixed_in));
  }
}

void CheckLimits(const Config& config, Findings& out) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kFewFiles) {
    out.Warn(
        "process.files",
        fmt::format("{} files may be open; librdkafka needs one for each broker", files.rlim_cur),
        "LimitNOFILE=65536 in the unit, or ulimit -n 65536.");
  }
  std::ifstream cgroup("/sys/fs/cgroup/memory.max");
  int64_t limit = 0;
  const bool takes_json_apart =
      config.format.expand_json || !config.source.message_prefixes.empty();
  const int64_t wanted = kOwnMemory + 2 * config.pipeline.max_in_flight_bytes +
                         (takes_json_apart ? kJsonFactor * config.kafka.max_record_bytes : 0);
  if (cgroup >> limit && limit < wanted) {
    out.Warn("process.memory",
             fmt::format("this container may use {}; with pipeline.max_in_flight_bytes = {} it may "
                         "need {}{}",
                         HumanBytes(static_cast<uint64_t>(limit)),
                         HumanBytes(static_cast<uint64_t>(config.pipeline.max_in_flight_bytes)),
                         HumanBytes(static_cast<uint64_t>(wanted)),
                         takes_json_apart ? ", most of it for a row of very dense JSON" : ""),
             takes_json_apart ? "Raise the container's memory, or lower kafka.max_record_bytes or "
                                "pipeline.max_in_flight_bytes."
                              : "Raise the container's memory, or lower "
                                "pipeline.max_in_flight_bytes.");
  }
}

// The sum of a stage's series on a page of metrics; 0 when it is not there.
double SeriesOf(std::string_view page, std::string_view name, std::string_view stage) {
  const std::string label = fmt::format("stage=\"{}\"", stage);
  for (size_t at = page.find(name); at != std::string_view::npos; at = page.find(name, at + 1)) {
    const std::string_view line = page.substr(at, page.find('\n', at) - at);
    const size_t value = line.rfind(' ');
    if (line.substr(name.size()).starts_with('{') && line.find(label) != std::string_view::npos &&
        value != std::string_view::npos) {
      return std::strtod(std::string(line.substr(value + 1)).c_str(), nullptr);
    }
  }
  return 0;
}

constexpr std::string_view kStageCount = "walrelay_stage_latency_seconds_count";

// The mean since the relay started, or nullopt when nothing was measured.
std::optional<double> MeanOf(std::string_view page, std::string_view stage) {
  const double count = SeriesOf(page, kStageCount, stage);
  if (count <= 0) {
    return std::nullopt;
  }
  return SeriesOf(page, "walrelay_stage_latency_seconds_sum", stage) / count;
}

std::string Shown(double seconds) {
  return HumanDuration(std::chrono::duration_cast<Micros>(std::chrono::duration<double>(seconds)));
}

// Whose the latency is that the running relay has measured.
void CheckStages(const Config& config, Findings& out) {
  const auto page = HttpGet(config.http.listen, "/metrics", kPatience);
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
  if (measured >= kTransactionsToJudgeBy && *postgres > kLateAtPostgres && *postgres > *kafka) {
    out.Warn(
        "latency.stages", text,
        "The writers' share is the largest: sessions that commit with synchronous_commit = off "
        "(their commits wait for the WAL writer), or large transactions, which are decoded when "
        "they commit. A backlog that was worked off counts here too.");
  } else {
    out.Good("latency.stages", text);
  }
}

void CheckRelay(const Config& config, Findings& out) {
  if (config.http.listen.empty()) {
    return;
  }
  const auto ready = HttpGet(config.http.listen, "/readyz", kPatience);
  if (!ready.ok()) {
    out.Warn("process.relay",
             fmt::format("no relay answers at {}: its state is not known", config.http.listen),
             "walrelay run, where none is running; or --set http.listen=ADDRESS:PORT of the one "
             "that is.");
    return;
  }
  const std::string says(ready->body.substr(0, ready->body.find('\n')));
  if (ready->status == 200) {
    out.Good("process.relay",
             fmt::format("the relay at {} says: {}", config.http.listen, Printable(says, 200)));
  } else {
    out.Warn("process.relay",
             fmt::format("the relay at {} says: {}", config.http.listen, Printable(says, 200)),
             "walrelay status");
  }
  CheckStages(config, out);
}

}  // namespace

void CheckProcess(const Config& config, Findings& out) {
  CheckLibraries(config.kafka, out);
  CheckLimits(config, out);
  CheckRelay(config, out);
}

}  // namespace walrelay

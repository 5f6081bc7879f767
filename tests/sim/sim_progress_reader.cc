#include "sim_progress_reader.h"

#include "outbox.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

constexpr Micros kTimeout = std::chrono::seconds(10);

}  // namespace

// A record that is read before the slot may be behind it.
absl::StatusOr<std::optional<Progress>> SimProgressReader::Read(const std::string& topic) {
  if (topic != kProgressTopic) {
    context_.oracle.Fail("I19 progress", "a relay reads another progress topic");
  }
  if (!source_.open()) {
    context_.oracle.Fail("I19 progress", "a relay reads the record before the slot");
  }
  if (network_.kafka_secret_unreadable) {
    return Error(ErrorCode::kSecretFile, "kafka.password: mode 0644");
  }
  SimTopic& settings = kafka_.topic(topic);
  const bool unreachable = kafka_.down || kafka_.leaderless == 0;
  if (!host_.Pass(unreachable ? kTimeout : 6 * kafka_.latency, /*interruptible=*/true)) {
    return absl::CancelledError("interrupted");
  }
  if (unreachable) {
    return Error(ErrorCode::kKafkaUnreachable, "no broker responds");
  }
  if (settings.denied) {
    context_.coverage.Count("reading the progress record is denied");
    return Error(ErrorCode::kProgressDenied, topic + ": topic authorization failed");
  }
  settings.exists = true;
  if (kafka_.progress()) {
    source_.OnRecordRead(*kafka_.progress());
  }
  return kafka_.progress();
}

}  // namespace walrelay::sim

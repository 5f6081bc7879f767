#include "sim_progress_topic.h"

#include "outbox.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

constexpr Micros kTimeout = std::chrono::seconds(10);

}  // namespace

absl::Status SimProgressTopic::Ask(const std::string& topic) {
  if (network_.kafka_secret_unreadable) {
    return Error(ErrorCode::kSecretFile, "kafka.password: mode 0644");
  }
  const bool unreachable = kafka_.down || kafka_.leaderless == 0;
  if (!host_.Pass(unreachable ? kTimeout : 6 * kafka_.latency, /*interruptible=*/true)) {
    return absl::CancelledError("interrupted");
  }
  if (unreachable) {
    return Error(ErrorCode::kKafkaUnreachable, "no broker responds");
  }
  if (kafka_.topic(topic).denied) {
    context_.coverage.Count("reading the progress record is denied");
    return Error(ErrorCode::kProgressDenied, topic + ": topic authorization failed");
  }
  return absl::OkStatus();
}

// A record that is read before the slot may be behind it: no stream may begin from it.
absl::StatusOr<ProgressReading> SimProgressTopic::Read(const ProgressAddress& address) {
  const std::string& topic = address.topic;
  if (topic != kProgressTopic) {
    context_.oracle.Fail("I19 progress", "a relay reads another progress topic");
  }
  WR_RETURN_IF_ERROR(Ask(topic));
  if (kafka_.deletes_progress) {
    context_.coverage.Count("the progress topic does not keep its records");
    return Error(ErrorCode::kProgressTopicInvalid, topic + ": cleanup.policy=delete");
  }
  kafka_.topic(topic).exists = true;
  if (kafka_.progress()) {
    if (source_.open()) {
      source_.OnRecordRead(*kafka_.progress());
    }
    host_.OnProgressRead();
  }
  ProgressReading reading;
  reading.record = kafka_.progress();
  reading.cluster_id = ClusterName(kafka_.cluster());
  return reading;
}

absl::StatusOr<bool> SimProgressTopic::IsSettled(const std::string& topic) {
  WR_RETURN_IF_ERROR(Ask(topic));
  const bool settled = kafka_.ProgressIsStable();
  context_.coverage.Count(settled ? "the record is settled" : "the record is not settled");
  return settled;
}

// The relay may be killed before the acknowledgement arrives.
absl::Status SimProgressTopic::Write(const ProgressAddress& address, const Progress& record) {
  WR_RETURN_IF_ERROR(Ask(address.topic));
  context_.coverage.Count("a gap is recorded");
  source_.OnGapRecorded(record);
  kafka_.AppendProgress(record);
  return host_.Pass(kafka_.latency, /*interruptible=*/true) ? absl::OkStatus()
                                                            : absl::CancelledError("interrupted");
}

}  // namespace walrelay::sim

// A SinkFactory whose topics are what the test says. It makes no sink.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "walrelay/error.h"
#include "walrelay/sink_factory.h"

namespace walrelay::testing {

class FakeSinkFactory final : public SinkFactory {
 public:
  std::map<std::string, Micros, std::less<>> retention;
  std::vector<std::string> asked;  // the topics of the last ReadRetention()

  SinkLibrary library() const override { return {}; }
  void CheckOffline(const OnInvalid& /*on_invalid*/) const override {}
  absl::StatusOr<std::unique_ptr<Sink>> Make(const SinkRequest& /*request*/) override {
    return None();
  }
  std::unique_ptr<ProgressTopic> OpenProgress(ProgressOptions /*options*/) override {
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<TopicReader>> OpenReader() override { return None(); }
  absl::StatusOr<std::vector<StoredRecord>> ReadTopics(const std::vector<std::string>& /*topics*/,
                                                       Micros /*timeout*/,
                                                       std::optional<WallTime> /*since*/) override {
    return None();
  }
  absl::StatusOr<std::map<std::string, int, std::less<>>> CountPartitions(
      const std::vector<std::string>& /*topics*/, Micros /*timeout*/) override {
    return None();
  }
  absl::StatusOr<std::map<std::string, Micros, std::less<>>> ReadRetention(
      const std::vector<std::string>& topics, Micros /*timeout*/) override {
    asked = topics;
    return retention;
  }
  absl::Status WriteRecord(const Record& /*record*/, Micros /*timeout*/) override { return None(); }
  int32_t PartitionOf(std::string_view /*key*/, int /*partitions*/) const override { return 0; }
  bool WaitForClients(Micros /*timeout*/) override { return true; }

 private:
  static absl::Status None() { return Error(ErrorCode::kKafkaUnreachable, "a fake"); }
};

}  // namespace walrelay::testing

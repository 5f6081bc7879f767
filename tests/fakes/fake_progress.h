// A progress reader that reads what a fake Kafka has acknowledged, or what a test has put there.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "encode/progress_codec.h"
#include "fakes/fake_kafka.h"
#include "walrelay/error.h"
#include "walrelay/progress.h"

namespace walrelay::testing {

class FakeProgress final : public ProgressTopic {
 public:
  explicit FakeProgress(const FakeKafka& kafka) : kafka_(kafka) {}

  absl::StatusOr<ProgressReading> Read(const ProgressAddress& address) override {
    ++reads;
    WR_RETURN_IF_ERROR(error);
    ProgressReading reading = others;
    std::optional<Progress>& last = reading.record;
    last = stored;
    for (const FakeRecord& record : kafka_.log) {
      if (record.topic != address.topic) {
        continue;
      }
      WR_ASSIGN_OR_RETURN(Progress progress, DecodeProgress(record.value.value_or("")));
      AddVersion(last, progress);
    }
    return reading;
  }

  absl::StatusOr<bool> IsSettled(const std::string& /*topic*/) override { return settled; }

  absl::Status Write(const ProgressAddress& /*address*/, const Progress& record) override {
    WR_RETURN_IF_ERROR(write_error);
    stored = record;
    return absl::OkStatus();
  }

  std::vector<Progress> ReadOfSlot(std::string_view /*slot*/) override { return of_slot; }

  ProgressReading others;  // what the topic has beside the record
  std::vector<Progress> of_slot;
  bool settled = true;
  absl::Status error;
  absl::Status write_error;
  std::optional<Progress> stored;
  int reads = 0;

 private:
  const FakeKafka& kafka_;
};

}  // namespace walrelay::testing

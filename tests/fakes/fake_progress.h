// A progress reader that reads what a fake Kafka has acknowledged, or what a test has put there.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "encode/progress_codec.h"
#include "fakes/fake_kafka.h"
#include "walrelay/error.h"
#include "walrelay/progress.h"

namespace walrelay::testing {

class FakeProgress final : public ProgressReader {
 public:
  explicit FakeProgress(const FakeKafka& kafka) : kafka_(kafka) {}

  absl::StatusOr<std::optional<Progress>> Read(const std::string& topic) override {
    ++reads;
    WR_RETURN_IF_ERROR(error);
    std::optional<Progress> last = stored;
    for (const FakeRecord& record : kafka_.log) {
      if (record.topic != topic) {
        continue;
      }
      WR_ASSIGN_OR_RETURN(Progress progress, DecodeProgress(record.value.value_or("")));
      if (!last || progress.Order() >= last->Order()) {
        last = std::move(progress);
      }
    }
    return last;
  }

  absl::StatusOr<bool> IsSettled(const std::string& /*topic*/) override { return settled; }

  bool settled = true;
  absl::Status error;
  std::optional<Progress> stored;
  int reads = 0;

 private:
  const FakeKafka& kafka_;
};

}  // namespace walrelay::testing

// A fake SnapshotSource whose answers are set by the test.
#pragma once

#include <optional>
#include <utility>

#include "base/check.h"
#include "walrelay/error.h"
#include "walrelay/visibility.h"

namespace walrelay::testing {

class FakeSnapshots final : public SnapshotSource {
 public:
  // --- actions of the test ---
  void Answer(XidSnapshot snapshot) { answer_ = std::move(snapshot); }
  void Fail(ErrorCode code = ErrorCode::kVisibilityUnknown) { answer_ = Error(code, "refused"); }

  // --- state that the test reads ---
  size_t asked = 0;
  size_t closed = 0;
  int walsender_pid = 0;
  bool under_way = false;

  // --- SnapshotSource ---
  void Request(int pid) override {
    WR_CHECK(!under_way, "one request at a time");
    under_way = true;
    walsender_pid = pid;
    answer_.reset();
    ++asked;
  }
  absl::StatusOr<std::optional<XidSnapshot>> Poll() override {
    WR_CHECK(under_way, "a request is in progress");
    if (!answer_) {
      return std::nullopt;
    }
    under_way = false;
    auto answer = *std::exchange(answer_, std::nullopt);
    if (!answer.ok()) {
      return answer.status();
    }
    return std::optional(*std::move(answer));
  }
  void Close() override {
    ++closed;
    under_way = false;
    answer_.reset();
  }
  int poll_fd() const override { return -1; }
  bool wants_write() const override { return false; }

 private:
  std::optional<absl::StatusOr<XidSnapshot>> answer_;
};

}  // namespace walrelay::testing

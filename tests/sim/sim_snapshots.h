// SimSnapshots: a relay's second connection, on which it asks for snapshots.
//
// Answers on simulated time, of the moment in which the question arrives; checks what the real one
// checks: a connection leads to the server that streams, or it is given up.
#pragma once

#include <memory>
#include <optional>

#include "context.h"
#include "relay_host.h"
#include "sim_postgres.h"
#include "sim_source.h"
#include "walrelay/visibility.h"

namespace walrelay::sim {

class SimSnapshots final : public SnapshotSource {
 public:
  SimSnapshots(Context& context, SimPostgres& server, const Network& network)
      : context_(context), server_(server), network_(network) {}

  void Ask(int walsender_pid) override;
  absl::StatusOr<std::optional<XidSnapshot>> Poll() override;
  void Close() override;
  int poll_fd() const override { return -1; }
  bool wants_write() const override { return false; }

  // For the loop: when the answer has come; nullopt while nothing is on its way to the relay.
  std::optional<MonoTime> ReadableAt() const;

 private:
  struct Question {
    bool connecting = false;
    int incarnation = 0;  // of the server, when it was connected to
    int walsender_pid = 0;
    std::optional<MonoTime> answered_at;
    absl::StatusOr<XidSnapshot> answer;
  };

  void Arrive(Question& question) const;
  absl::StatusOr<XidSnapshot> AnswerTo(Question& question) const;

  Context& context_;
  SimPostgres& server_;
  const Network& network_;
  bool connected_ = false;
  int walsender_pid_ = 0;
  int incarnation_ = 0;
  int cuts_ = 0;  // of the network, when it was connected
  std::shared_ptr<Question> question_;
};

}  // namespace walrelay::sim

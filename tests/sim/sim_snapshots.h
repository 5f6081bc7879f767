// SimSnapshots: a relay's second connection, on which it requests snapshots.
//
// Answers on simulated time, with the snapshot of the moment in which the request arrives. Like the
// real one, it closes a connection that does not lead to the server that streams.
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

  void Request(int walsender_pid) override;
  absl::StatusOr<std::optional<XidSnapshot>> Poll() override;
  void Close() override;
  int poll_fd() const override { return -1; }
  bool wants_write() const override { return false; }

  // For the loop: when the answer arrives; nullopt while no answer has been sent.
  std::optional<MonoTime> ReadableAt() const;

 private:
  struct Question {
    bool connecting = false;
    int incarnation = 0;  // of the server at connection time
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
  int cuts_ = 0;  // of the network at connection time
  std::shared_ptr<Question> question_;
};

}  // namespace walrelay::sim

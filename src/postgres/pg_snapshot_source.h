// PgSnapshotSource: the real SnapshotSource, over libpq without blocking.
//
// An ordinary connection of the relay's role, to the address that the stream comes from: no name is
// looked up, and a list of hosts leads nowhere else. The first question on a connection also asks
// who holds the slot. Any other process than the stream's means another server, whose xids are not
// those of the stream.
//
// Needs no privilege beyond LOGIN: pg_current_snapshot() is everybody's.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>

#include "postgres/connection_parameters.h"
#include "postgres/pg_replication_source.h"
#include "walrelay/config.h"
#include "walrelay/visibility.h"

namespace walrelay {

class PgSnapshotSource final : public SnapshotSource {
 public:
  // Both must outlive the source.
  PgSnapshotSource(const SourceConfig& config, const PgReplicationSource& stream);
  ~PgSnapshotSource() override;

  void Ask(int walsender_pid) override;
  absl::StatusOr<std::optional<XidSnapshot>> Poll() override;
  void Close() override;
  int poll_fd() const override;
  bool wants_write() const override { return wants_write_; }

 private:
  enum class State : uint8_t { kClosed, kConnecting, kIdle, kAsked };

  struct Deleter {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  absl::Status Connect();
  absl::Status ContinueConnecting();
  absl::Status Send(const std::string& query);
  absl::Status Flush();
  absl::StatusOr<std::optional<XidSnapshot>> Receive();
  absl::StatusOr<XidSnapshot> Read(const PGresult* result);
  absl::Status Fail(const absl::Status& cause);

  const SourceConfig& config_;
  const PgReplicationSource& stream_;
  std::unique_ptr<PGconn, Deleter> connection_;
  State state_ = State::kClosed;
  int walsender_pid_ = 0;
  bool verified_ = false;  // this connection leads to the stream's server
  bool wants_write_ = false;
  bool stream_ended_ = false;            // the slot has another reader than the stream
  absl::Status ask_error_;               // found while asking; Poll() reports it
  std::optional<XidSnapshot> snapshot_;  // read; the end of the answer has not come yet
};

}  // namespace walrelay

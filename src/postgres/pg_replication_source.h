// PgReplicationSource: the implementation of ReplicationSource with libpq.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "postgres/connection.h"
#include "postgres/copy_stream.h"
#include "walrelay/config.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class PgReplicationSource final : public ReplicationSource {
 public:
  // `config` must outlive the source. `interrupt_fd`: see PgConnection. `on_step` is called between
  // the steps of Open(), to show that the thread is alive although Open() takes long. May be empty.
  PgReplicationSource(const SourceConfig& config, int interrupt_fd,
                      std::function<void()> on_step = {});
  ~PgReplicationSource() override;

  absl::StatusOr<SourceFacts> Open() override;
  void SetSenderTimeout(Micros timeout) override { sender_timeout_ = timeout; }
  absl::StatusOr<std::optional<SlotFacts>> InspectSlot() override;
  absl::Status TerminateBackend(int pid) override;
  absl::Status CreateSlot() override;
  absl::Status DropSlot() override;
  absl::Status Start(Lsn position) override;
  absl::StatusOr<bool> Receive(size_t max_bytes) override;
  bool more_has_arrived() const override;
  std::span<const std::string_view> pending() const override;
  void Consume(size_t count) override;
  absl::Status SendStatus(const StandbyStatus& status) override;
  absl::Status Flush() override;
  absl::Status Finish(Micros patience) override;
  void Close() override;
  int poll_fd() const override;
  bool wants_write() const override;

  // The host, hostaddr and port of the connection, for another connection to the same server. Empty
  // without a connection.
  ConnectionParameters Peer() const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  void Step() const;
  absl::Status Connect(Deadline deadline);
  absl::StatusOr<SourceFacts> ReadFacts();
  Micros timeout() const;

  const SourceConfig& config_;
  const int interrupt_fd_;
  const std::function<void()> on_step_;
  Micros sender_timeout_{0};  // 0: as configured
  std::optional<PgConnection> connection_;
  std::optional<CopyStream> stream_;  // over connection_, since Start()
  // Index in the DSN's list: the stream must use the host that answered the queries.
  std::optional<size_t> host_;
  bool publication_skipped_ = false;  // set by a warning of Postgres 18
};

}  // namespace walrelay

// PgReplicationSource: the implementation of ReplicationSource with libpq.
//
// Open() connects twice: the first connection answers the questions about the slot and the catalog,
// and the second, which has looked up nothing in the catalog, streams (decision 0007). Both go to
// the same host of the DSN.
//
// Positions, slots and tables are only read here. The caller decides what they mean, and what to do
// about them.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "postgres/connection.h"
#include "postgres/copy_stream.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

class PgReplicationSource final : public ReplicationSource {
 public:
  // `config` must outlive the source. `interrupt_fd`: see PgConnection. `on_step` is called between
  // the steps of Open(), to show that the thread is alive although Open() takes long. May be empty.
  PgReplicationSource(const SourceConfig& config, int interrupt_fd,
                      std::function<void()> on_step = {});
  ~PgReplicationSource() override;

  absl::StatusOr<SourceInfo> Open() override;
  void SetSenderTimeout(Micros timeout) override { sender_timeout_ = timeout; }
  absl::StatusOr<std::optional<SlotInfo>> InspectSlot() override;
  absl::Status TerminateBackend(int pid) override;
  absl::Status CreateSlot() override;
  absl::Status DropSlot() override;
  absl::StatusOr<std::optional<Lsn>> Start(Lsn position) override;
  absl::StatusOr<bool> Receive(size_t max_bytes) override;
  uint64_t incoming_bytes() const override;
  bool more_has_arrived() const override;
  std::span<const std::string_view> pending() const override;
  void Consume(size_t count) override;
  absl::Status SendStatus(const StandbyStatus& status) override;
  absl::Status Flush() override;
  absl::Status Finish(Micros timeout) override;
  void Close() override;
  int poll_fd() const override;
  bool wants_write() const override;

  // The host, hostaddr and port of the connection, for another connection to the same server. Empty
  // without a connection.
  ConnectionParameters Peer() const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  // Tells the owner that Open() makes progress.
  void Step() const;
  // Connects to the host that has answered before, otherwise to the first usable one.
  absl::Status Connect(Deadline deadline);
  // Decoding would use what the server process has cached instead of the catalog as of the WAL
  // position.
  absl::Status EmptyCatalogCaches();
  absl::StatusOr<bool> HasLoginTrigger();
  // Logs the tables whose earlier rows may not be in the stream, once.
  absl::Status ReportRecentMembers(const SourceInfo& info);
  // All that Open() returns, read on one connection, the server's WAL position first.
  absl::StatusOr<SourceInfo> ReadFacts();
  // The timeout of one query.
  Micros timeout() const;

  const SourceConfig& config_;
  // Readable when the process is asked to stop; see PgConnection.
  const int interrupt_fd_;
  const std::function<void()> on_step_;
  Micros sender_timeout_{0};  // 0: as configured
  // Nothing while closed.
  std::optional<PgConnection> connection_;
  std::optional<CopyStream> stream_;  // over connection_, since Start()
  uint64_t incoming_bytes_ = 0;       // the room for the large message that arrives
  // Index in the DSN's list: the stream must use the host that answered the queries.
  std::optional<size_t> host_;
  bool login_trigger_ = false;  // of the database: it may fill the caches of the stream's process
  bool failover_ = false;       // the slot
  bool recent_members_reported_ = false;
  bool publication_skipped_ = false;  // set by a warning of Postgres 18
  std::optional<Lsn> confirmed_;      // as the server logged it at Start()
};

}  // namespace walrelay

// PgReplicationSource: the real ReplicationSource, over libpq.
//
// libpq hands out each CopyData in a buffer of its own; the source keeps these until they are
// consumed, so that messages can be held back and handled in one go without being copied.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "postgres/connection.h"
#include "walrelay/config.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class PgReplicationSource final : public ReplicationSource {
 public:
  // `config` must outlive the source. `interrupt_fd`: see PgConnection.
  PgReplicationSource(const SourceConfig& config, int interrupt_fd);
  ~PgReplicationSource() override;

  absl::StatusOr<SourceFacts> Open() override;
  absl::StatusOr<std::optional<SlotFacts>> InspectSlot() override;
  absl::Status TerminateBackend(int pid) override;
  absl::Status CreateSlot() override;
  absl::Status DropSlot() override;
  absl::Status Start(Lsn position) override;
  absl::StatusOr<bool> Receive(size_t max_bytes) override;
  std::span<const std::string_view> pending() const override;
  void Consume(size_t count) override;
  absl::Status SendStatus(const StandbyStatus& status) override;
  absl::Status Flush() override;
  absl::Status Finish(Micros patience) override;
  void Close() override;
  int poll_fd() const override;
  bool wants_write() const override { return wants_write_; }

 private:
  struct PqFree {
    void operator()(char* buffer) const { PQfreemem(buffer); }
  };

  // What one call of PQgetCopyData() found.
  enum class Taken { kMessage, kNothing, kEnd };

  absl::Status Connect();
  absl::Status MatchClientEncoding();
  absl::Status TakeBuffered(size_t max_bytes, bool& ended);
  Taken TakeMessage();
  absl::Status OrderOfEnd();
  absl::Status EndOfStream();

  const SourceConfig& config_;
  const int interrupt_fd_;
  std::optional<PgConnection> connection_;
  bool publication_skipped_ = false;  // Postgres 18 said so in a warning
  bool wants_write_ = false;

  std::vector<std::unique_ptr<char, PqFree>> buffers_;
  std::vector<std::string_view> messages_;  // views of buffers_
  size_t consumed_ = 0;                     // of both, from the front
  size_t pending_bytes_ = 0;
};

}  // namespace walrelay

// PgRecoverySource: the server of a recovery, with the logins of the configuration.
//
// Not thread-safe. Blocks.
#pragma once

#include <optional>

#include "recover/recovery.h"
#include "recover/recovery_slot.h"

namespace walrelay {

struct SourceConfig;

class PgRecoverySource final : public RecoverySource {
 public:
  // `config` must outlive it.
  explicit PgRecoverySource(const SourceConfig& config) : config_(config) {}

  // Errors: those of PgReplicationSource::Open() and of a connection.
  absl::StatusOr<RecoverEvidence> ReadEvidence() override;
  absl::StatusOr<NewSlot> CreateSlot() override;
  absl::Status ReplaceSlot(bool failover) override;
  absl::Status EnableFailover() override;

 private:
  const SourceConfig& config_;
  std::optional<RecoverySlot> slot_;
};

}  // namespace walrelay

#include "recover/pg_recovery_source.h"

#include "base/check.h"
#include "postgres/pg_replication_source.h"
#include "postgres/session.h"
#include "recover/recovery_facts.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<RecoverEvidence> PgRecoverySource::ReadEvidence() {
  RecoverEvidence evidence;
  {
    PgReplicationSource source(config_, -1);
    WR_ASSIGN_OR_RETURN(evidence.info, source.Open());
  }
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config_));
  WR_ASSIGN_OR_RETURN(
      const RecoveryFacts facts,
      ReadRecoveryFacts(connection, evidence.info.tables, config_.slot, config_.connect_timeout));
  evidence.next = facts.next;
  evidence.slot_from_xid = facts.slot_from_xid;
  evidence.deleted_rows = facts.deleted_rows;
  return evidence;
}

absl::StatusOr<NewSlot> PgRecoverySource::CreateSlot() {
  WR_ASSIGN_OR_RETURN(slot_, RecoverySlot::Create(config_));
  return slot_->slot();
}

absl::Status PgRecoverySource::ReplaceSlot(bool failover) {
  WR_CHECK(slot_.has_value(), "the new slot was created");
  return slot_->Replace(failover);
}

absl::Status PgRecoverySource::EnableFailover() {
  return RecoverySlot::EnableFailover(config_);
}

}  // namespace walrelay

#include "slot/wal_retention_limit.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The primary's disk holds so much because of the slot. The confirmed position does not matter:
// decoding restarts at restart_lsn.
uint64_t RetainedBytes(const ServerInfo& server, const SlotInfo& slot) {
  return BytesBetween(slot.restart_lsn, server.wal_end);
}

}  // namespace

std::optional<WalRetentionLimit> WalRetentionLimitOf(const SourceConfig& source) {
  if (source.max_retained_wal <= 0) {
    return std::nullopt;
  }
  return WalRetentionLimit{.bytes = source.max_retained_wal,
                           .drop_slot = source.on_retained_limit == OnRetainedLimit::kDropSlot};
}

// On a standby a synchronized slot belongs to the primary, and a temporary slot ends with its
// session: neither is the relay's to drop. After a promotion the slot is still marked as
// synchronized, and belongs to the relay.
bool MustDropSlot(const SourceConfig& source, const ServerInfo& server, const SlotInfo& slot) {
  const auto budget = WalRetentionLimitOf(source);
  if (!budget || !budget->drop_slot) {
    return false;
  }
  const bool in_use = slot.active || slot.temporary || server.in_recovery;
  // An invalidated slot retains nothing any more, and still shows its confirmed position.
  const bool retains = slot.restart_lsn.valid() && !slot.lost();
  WR_CHECK(budget->bytes > 0, "a limit is positive");
  const auto limit = static_cast<uint64_t>(budget->bytes);
  return !in_use && retains && RetainedBytes(server, slot) >= limit;
}

absl::Status SlotDropped(const SourceConfig& source, const ServerInfo& server, const SlotInfo& slot,
                         std::optional<WallTime> oldest) {
  return Error(
      ErrorCode::kSlotDropped,
      fmt::format(
          "slot {} retained {} of WAL, and source.max_retained_wal is {}; everything up to {} was "
          "published{}",
          source.slot, HumanBytes(RetainedBytes(server, slot)),
          HumanBytes(static_cast<uint64_t>(source.max_retained_wal)),
          slot.confirmed_flush_lsn.ToString(),
          oldest ? fmt::format("; the oldest event not known to be published was committed at {}",
                               Rfc3339(*oldest))
                 : ""));
}

}  // namespace walrelay

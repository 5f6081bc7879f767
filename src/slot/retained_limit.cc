#include "slot/retained_limit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

uint64_t RetainedBytes(const ServerFacts& server, const SlotFacts& slot) {
  return BytesBetween(slot.restart, server.wal_end);
}

}  // namespace

std::optional<RetentionBudget> BudgetOf(const SourceConfig& source) {
  if (source.max_retained_wal <= 0) {
    return std::nullopt;
  }
  return RetentionBudget{.bytes = source.max_retained_wal,
                         .drop_slot = source.on_retained_limit == OnRetainedLimit::kDropSlot};
}

bool MustDropSlot(const SourceConfig& source, const ServerFacts& server, const SlotFacts& slot) {
  const auto budget = BudgetOf(source);
  if (!budget || !budget->drop_slot) {
    return false;
  }
  const bool in_use = slot.active || slot.temporary || slot.synced || server.in_recovery;
  // An invalidated slot retains nothing any more, and still shows its confirmed position.
  const bool retains =
      slot.restart.valid() && slot.wal_status != "lost" && slot.invalidation_reason.empty();
  const auto limit = static_cast<uint64_t>(budget->bytes);
  return !in_use && retains && RetainedBytes(server, slot) >= limit;
}

absl::Status SlotDropped(const SourceConfig& source, const ServerFacts& server,
                         const SlotFacts& slot, std::optional<WallTime> oldest) {
  return Error(
      ErrorCode::kSlotDropped,
      fmt::format(
          "slot {} retained {} of WAL, and source.max_retained_wal is {}; everything up to {} was "
          "published{}",
          source.slot, HumanBytes(RetainedBytes(server, slot)),
          HumanBytes(static_cast<uint64_t>(source.max_retained_wal)),
          slot.confirmed_flush.ToString(),
          oldest ? fmt::format("; the oldest event not known to be published was committed at {}",
                               Rfc3339(*oldest))
                 : ""));
}

}  // namespace walrelay

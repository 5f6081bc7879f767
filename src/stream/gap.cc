#include "stream/gap.h"

#include <fmt/format.h>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// FNV-1a, 32 bits: sufficient to distinguish the gaps of one process.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

// 0/0 without a slot: the position is then unknown.
Lsn ConfirmedOf(const SourceInfo& info) {
  return info.slot ? info.slot->confirmed_flush_lsn : Lsn();
}

// Every value by which HidingChange() compares two readings, except owners: a change of owner alone
// is not a gap.
std::string KeyOf(const PublicationIdentity& identity) {
  std::string key = fmt::format("{} {}", identity.oid, identity.xmin);
  for (const TableIdentity& table : identity.tables) {
    key += fmt::format(" {} {} {}", table.oid, table.renamed_by, table.unlogged);
    for (const Membership& membership : table.memberships) {
      key += fmt::format(" {} {}", membership.oid, membership.xmin);
    }
    for (const TableLeaf& leaf : table.unsent) {
      key += fmt::format(" {} {}", leaf.oid, static_cast<int>(leaf.stream));
    }
  }
  return key;
}

// The part of the findings that distinguishes this gap from another; no value that changes without
// a new gap.
std::string KeyOf(ErrorCode code, const SourceInfo& info) {
  switch (code) {
    case ErrorCode::kSlotMoved:
    case ErrorCode::kSlotLost:
    case ErrorCode::kSlotAheadOfLog:
      return " " + ConfirmedOf(info).ToString();
    case ErrorCode::kSystemChanged:
    case ErrorCode::kProgressForeign:
      return " " + info.server.system_id;
    case ErrorCode::kServerBehind:
    case ErrorCode::kTimelineChanged:
      return " " + std::to_string(info.server.timeline);
    case ErrorCode::kPublicationChanged:
      return " " + KeyOf(info.publication_state.identity);
    default:
      return "";
  }
}

// The positions that enclose the missing events depend on the error: a slot that moved lost those
// up to its new position; a server that was restored lost what it had sent after its present end; a
// slot that is gone or invalidated lost everything since.
void SetRange(Gap& gap, Lsn frontier, const std::optional<PublicationState>& publication,
              const SourceInfo& info) {
  const Lsn confirmed = ConfirmedOf(info);
  const Lsn wal_end = info.server.wal_end;
  switch (CodeOf(gap.error)) {
    case ErrorCode::kPublicationChanged:
      gap.from = publication ? publication->before : frontier;
      gap.to = info.publication_state.after;
      return;
    case ErrorCode::kSlotMoved:
    case ErrorCode::kSystemChanged:
    case ErrorCode::kTimelineChanged:
      gap.from = frontier;
      gap.to = confirmed;
      return;
    case ErrorCode::kProgressUnproven:
      gap.from = confirmed;
      gap.to = frontier;
      return;
    case ErrorCode::kServerBehind:
      gap.from = wal_end;
      gap.to = frontier;
      return;
    case ErrorCode::kSlotAheadOfLog:
      gap.from = wal_end;
      gap.to = confirmed;
      return;
    default:
      gap.from = frontier.valid() ? frontier : confirmed;
      gap.to = wal_end;
  }
}

}  // namespace

Gap MakeGap(const absl::Status& error, Lsn frontier,
            const std::optional<PublicationState>& publication, const SourceInfo* info) {
  WR_CHECK(ReactionTo(error) == Reaction::kGap, "the error's reaction is kGap");
  const ErrorCode code = CodeOf(error);
  Gap gap{.error = error, .id = "", .from = frontier, .to = Lsn()};
  // The frontier is part of the id: the same finding after further events is another gap. But
  // another process knows an earlier frontier, and what is compared here is the same for both.
  std::string key = frontier.ToString();
  if (code == ErrorCode::kPublicationChanged && publication) {
    key = KeyOf(publication->identity);
  } else if (code == ErrorCode::kClusterChanged) {
    key = MessageOf(error);  // the message names both clusters
  }
  if (info != nullptr) {
    SetRange(gap, frontier, publication, *info);
    key += KeyOf(code, *info);
  }
  gap.id = fmt::format("{:04}-{:08x}", static_cast<unsigned>(code), Hash(key));
  WR_CHECK(!gap.id.empty() && !gap.error.ok(), "an operator can name the gap and its cause");
  return gap;
}

HeldGap RecordOf(const Gap& gap) {
  return {.code = CodeOf(gap.error),
          .id = gap.id,
          .reason = std::string(MessageOf(gap.error)),
          .from = gap.from,
          .to = gap.to};
}

bool KeepsProof(const absl::Status& gap) {
  return HasCode(gap, ErrorCode::kSlotLost) || HasCode(gap, ErrorCode::kSlotMoved) ||
         HasCode(gap, ErrorCode::kSlotGone) || HasCode(gap, ErrorCode::kSlotDropped);
}

Gap GapOf(const HeldGap& held) {
  return {.error = Error(held.code, held.reason), .id = held.id, .from = held.from, .to = held.to};
}

// As the operator sees it, in the log, on the page and in `walrelay resume`.
std::string RangeOf(const Gap& gap) {
  if (!gap.from.valid()) {
    return gap.to.valid() ? fmt::format("up to {}", gap.to.ToString()) : "not known";
  }
  return gap.to.valid() ? fmt::format("{} to {}", gap.from.ToString(), gap.to.ToString())
                        : fmt::format("{} and later", gap.from.ToString());
}

}  // namespace walrelay

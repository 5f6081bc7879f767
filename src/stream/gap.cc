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

Lsn ConfirmedOf(const SourceFacts& facts) {
  return facts.slot ? facts.slot->confirmed_flush : Lsn();
}

std::string KeyOf(const PublicationIdentity& identity) {
  std::string key = fmt::format("{} {}", identity.oid, identity.xmin);
  for (const TableIdentity& table : identity.tables) {
    key += fmt::format(" {} {} {}", table.oid, table.renamed_by, table.unlogged);
    for (const Membership& membership : table.memberships) {
      key += fmt::format(" {} {}", membership.oid, membership.xmin);
    }
  }
  return key;
}

// The part of the findings that distinguishes this gap from another; no value that changes without
// a new gap.
std::string KeyOf(ErrorCode code, const SourceFacts& facts) {
  switch (code) {
    case ErrorCode::kSlotMoved:
    case ErrorCode::kSlotLost:
    case ErrorCode::kSlotAheadOfLog:
      return " " + ConfirmedOf(facts).ToString();
    case ErrorCode::kSystemChanged:
      return " " + facts.server.system_id;
    case ErrorCode::kServerBehind:
    case ErrorCode::kTimelineChanged:
      return " " + std::to_string(facts.server.timeline);
    case ErrorCode::kPublicationChanged:
      return " " + KeyOf(facts.publication_look.identity);
    default:
      return "";
  }
}

void SetRange(Gap& gap, Lsn frontier, const std::optional<PublicationLook>& publication,
              const SourceFacts& facts) {
  const Lsn confirmed = ConfirmedOf(facts);
  const Lsn wal_end = facts.server.wal_end;
  switch (CodeOf(gap.error)) {
    case ErrorCode::kPublicationChanged:
      gap.from = publication ? publication->before : frontier;
      gap.to = facts.publication_look.after;
      return;
    case ErrorCode::kSlotMoved:
    case ErrorCode::kSystemChanged:
    case ErrorCode::kTimelineChanged:
      gap.from = frontier;
      gap.to = confirmed;
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
            const std::optional<PublicationLook>& publication, const SourceFacts* facts) {
  WR_CHECK(ReactionTo(error) == Reaction::kGap, "the error's reaction is kGap");
  const ErrorCode code = CodeOf(error);
  Gap gap{.error = error, .id = "", .from = frontier, .to = Lsn()};
  std::string key = frontier.ToString();
  if (facts != nullptr) {
    SetRange(gap, frontier, publication, *facts);
    key += KeyOf(code, *facts);
  }
  gap.id = fmt::format("{:04}-{:08x}", static_cast<unsigned>(code), Hash(key));
  return gap;
}

std::string RangeOf(const Gap& gap) {
  if (!gap.from.valid()) {
    return gap.to.valid() ? fmt::format("up to {}", gap.to.ToString()) : "not known";
  }
  return gap.to.valid() ? fmt::format("{} to {}", gap.from.ToString(), gap.to.ToString())
                        : fmt::format("{} and later", gap.from.ToString());
}

}  // namespace walrelay

#include "seam_mutants.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/endian.h"
#include "mutant.h"
#include "outbox.h"
#include "wire.h"

namespace walrelay::sim {

void SeamMutants::Misread(SourceInfo& info) {
  if (Mutant(MutantId::kIgnoreLostSlot) && info.slot) {
    info.slot->wal_status = "reserved";
  }
  if (Mutant(MutantId::kTrustServer)) {
    // The retained WAL must stay correct: a wrong value would be detected for another reason.
    const Lsn end(std::numeric_limits<uint64_t>::max());
    if (info.slot && info.slot->restart_lsn.valid()) {
      const uint64_t kept = BytesBetween(info.slot->restart_lsn, info.server.wal_end);
      info.slot->restart_lsn = Lsn(end.value() - kept);
    }
    info.server.wal_end = end;
  }
}

bool SeamMutants::Misread(std::string& message) {
  const char type = TypeOf(message);
  if (Mutant(MutantId::kIgnoreKeepalives) && type == 'k') {
    StoreBigEndian(uint64_t{0}, message.data() + kKeepaliveEnd);
  }
  if (Mutant(MutantId::kIgnorePublicationWarning) && message == kPublicationWarning) {
    return false;
  }
  if (Mutant(MutantId::kSkipUndecodable) && type == kGarbledType) {
    return false;
  }
  if (Mutant(MutantId::kIgnoreRelation) && DescribesOutbox(message)) {
    return !std::exchange(described_, true);
  }
  if (Mutant(MutantId::kFilterByPosition) && type == 'I') {
    const Lsn row = LsnAt(message, kDataStart);
    return row > std::exchange(highest_row_, std::max(highest_row_, row));
  }
  return true;
}

bool SeamMutants::Misreport(StandbyStatus& status, bool ending) {
  const bool overstate =
      Mutant(MutantId::kConfirmReceived) || (Mutant(MutantId::kDrainConfirmsReceived) && ending);
  if (overstate) {
    status.flushed = status.received;
  }
  if (Mutant(MutantId::kAnswerEveryKeepalive)) {
    status.received = status.flushed;
  }
  return !(Mutant(MutantId::kDrainWithoutStatus) && ending);
}

}  // namespace walrelay::sim

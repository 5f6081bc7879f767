#include "txn/ack_tracker.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"

namespace walrelay {

void AckTracker::Restart(Lsn position) {
  Reset();
  frontier_ = position;
  resume_ = position;
  received_ = position;
}

void AckTracker::Resume() {
  WR_CHECK(!open_, "a stream goes on between transactions");
  received_ = resume_;
}

void AckTracker::Begin(WallTime commit_time) {
  WR_CHECK(!open_, "transactions do not nest in the stream");
  entries_.push_back(
      {.end_lsn = Lsn(), .outstanding = 0, .sealed = false, .commit_time = commit_time});
  open_ = true;
  open_produced_ = false;
}

DeliveryToken AckTracker::token() const {
  WR_CHECK(open_, "records belong to a transaction");
  return first_token_ + entries_.size() - 1;
}

void AckTracker::OnProduced(size_t bytes) {
  WR_CHECK(open_, "records belong to a transaction");
  open_produced_ = true;
  ++entries_.back().outstanding;
  ++records_in_flight_;
  bytes_in_flight_ += bytes;
}

void AckTracker::Commit(Lsn end_lsn) {
  WR_CHECK(open_, "COMMIT ends a transaction");
  open_ = false;
  Entry& entry = entries_.back();
  entry.sealed = true;
  entry.end_lsn = end_lsn;
  resume_ = std::max(resume_, end_lsn);
  received_ = std::max(received_, end_lsn);
  if (Mutant(MutantId::kConfirmOnProduce)) {
    frontier_ = std::max(frontier_, end_lsn);
  }
  if (!open_produced_) {
    // Its token was never given out, so the next transaction may have it.
    entries_.pop_back();
    Pass(end_lsn);
  }
  Advance();
}

void AckTracker::OnKeepalive(Lsn wal_end) {
  if (Mutant(MutantId::kConfirmKeepalive)) {
    frontier_ = std::max(frontier_, wal_end);
  }
  if (Mutant(MutantId::kPassOpenTransaction) && open_) {
    resume_ = std::max(resume_, Lsn(wal_end.value() + 1));
  }
  received_ = std::max(received_, wal_end);
  // Inside a transaction the server may vouch for the very COMMIT that is still to come.
  if (!open_) {
    resume_ = std::max(resume_, wal_end);
    Pass(wal_end);
  }
}

void AckTracker::AbandonOpen() {
  if (Mutant(MutantId::kForgetInFlight)) {
    const Lsn go_on = resume_;
    Reset();
    resume_ = go_on;
  }
  if (open_) {
    open_ = false;
    entries_.back().sealed = true;
    Advance();
  }
}

std::optional<WallTime> AckTracker::OnDelivered(DeliveryToken token, size_t bytes) {
  if (token < floor_) {
    return std::nullopt;
  }
  WR_CHECK(token >= first_token_ && token - first_token_ < entries_.size(),
           "a report names a transaction that waits for it");
  Entry& entry = entries_[token - first_token_];
  WR_CHECK(entry.outstanding > 0 && records_in_flight_ > 0 && bytes_in_flight_ >= bytes,
           "each record is acknowledged once");
  --entry.outstanding;
  --records_in_flight_;
  bytes_in_flight_ -= bytes;
  const WallTime commit_time = entry.commit_time;
  if (Mutant(MutantId::kConfirmHighestAck) && entry.sealed && entry.outstanding == 0) {
    frontier_ = std::max(frontier_, entry.end_lsn);
  }
  if (Mutant(MutantId::kConfirmLastAck) && entry.sealed) {
    frontier_ = entry.end_lsn;
  }
  if (Mutant(MutantId::kConfirmOnFirstAck) && entry.sealed && token == first_token_) {
    frontier_ = std::max(frontier_, entry.end_lsn);
  }
  Advance();
  return commit_time;
}

void AckTracker::Reset() {
  first_token_ += Mutant(MutantId::kCountLateReports) ? 0 : entries_.size();
  floor_ = first_token_;
  entries_.clear();
  open_ = false;
  records_in_flight_ = 0;
  bytes_in_flight_ = 0;
  resume_ = frontier_;
  received_ = frontier_;
}

std::optional<WallTime> AckTracker::oldest_commit_time() const {
  if (entries_.empty()) {
    return std::nullopt;
  }
  return entries_.front().commit_time;
}

// All of the stream up to `position` has been handled: it may be confirmed together with the last
// transaction that is in flight.
void AckTracker::Pass(Lsn position) {
  if (entries_.empty()) {
    frontier_ = std::max(frontier_, position);
  } else {
    Entry& last = entries_.back();
    WR_CHECK(last.sealed, "no position passes an open transaction");
    last.end_lsn = std::max(last.end_lsn, position);
  }
}

void AckTracker::Advance() {
  while (!entries_.empty() && entries_.front().sealed && entries_.front().outstanding == 0) {
    frontier_ = std::max(frontier_, entries_.front().end_lsn);
    entries_.pop_front();
    ++first_token_;
  }
}

}  // namespace walrelay

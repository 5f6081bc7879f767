#include "stream/ack_tracker.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {

void AckTracker::Restart(Lsn position) {
  Reset();
  frontier_ = position;
  resume_ = position;
  received_ = position;
}

void AckTracker::Resume() {
  WR_CHECK(!open_, "a stream resumes between transactions");
  received_ = resume_;
}

void AckTracker::Begin(Lsn commit_lsn, WallTime commit_time) {
  WR_CHECK(!open_, "transactions do not nest in the stream");
  entries_.push_back({.end_lsn = Lsn(),
                      .outstanding = 0,
                      .sealed = false,
                      .commit_lsn = commit_lsn,
                      .commit_time = commit_time});
  open_ = true;
  open_produced_ = false;
}

DeliveryToken AckTracker::token(uint64_t ordinal) const {
  WR_CHECK(open_, "records belong to a transaction");
  const uint64_t nameable = std::min<uint64_t>(ordinal, DeliveryToken::kUnnamedOrdinal);
  return {.transaction = static_cast<uint32_t>(first_number_ + entries_.size() - 1),
          .ordinal = static_cast<uint32_t>(nameable)};
}

AckTracker::Entry* AckTracker::Find(DeliveryToken token) {
  // The distance from the first transaction in flight; for an earlier one it wraps to more than
  // there are.
  const uint32_t index = token.transaction - static_cast<uint32_t>(first_number_);
  const bool given_up = static_cast<int32_t>(token.transaction - static_cast<uint32_t>(floor_)) < 0;
  if (given_up) {
    return nullptr;
  }
  WR_CHECK(index < entries_.size(), "a report names a transaction in flight that waits for it");
  return &entries_[index];
}

const AckTracker::Entry* AckTracker::Find(DeliveryToken token) const {
  return const_cast<AckTracker*>(this)->Find(token);
}

std::optional<Position> AckTracker::PositionOf(DeliveryToken token) const {
  const Entry* const entry = Find(token);
  if (entry == nullptr || token.ordinal == DeliveryToken::kUnnamedOrdinal) {
    return std::nullopt;
  }
  return Position{entry->commit_lsn, token.ordinal};
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
  if (!open_produced_) {
    // Its token was never handed out, so the next transaction may reuse it.
    entries_.pop_back();
    Pass(end_lsn);
  }
  Advance();
}

void AckTracker::OnKeepalive(Lsn wal_end) {
  received_ = std::max(received_, wal_end);
  // Inside a transaction, a keepalive's wal_end may already include the COMMIT that is yet to be
  // sent.
  if (!open_) {
    resume_ = std::max(resume_, wal_end);
    Pass(wal_end);
  }
}

void AckTracker::AbandonOpen() {
  if (open_) {
    open_ = false;
    entries_.back().sealed = true;
    Advance();
  }
}

std::optional<WallTime> AckTracker::OnDelivered(DeliveryToken token, size_t bytes) {
  Entry* const found = Find(token);
  if (found == nullptr) {
    return std::nullopt;
  }
  Entry& entry = *found;
  WR_CHECK(entry.outstanding > 0 && records_in_flight_ > 0 && bytes_in_flight_ >= bytes,
           "each record is acknowledged once");
  --entry.outstanding;
  --records_in_flight_;
  bytes_in_flight_ -= bytes;
  const WallTime commit_time = entry.commit_time;
  Advance();
  return commit_time;
}

void AckTracker::OnRefused(DeliveryToken token, size_t bytes) {
  Entry* const entry = Find(token);
  WR_CHECK(open_ && entry == &entries_.back(), "the refused record is of the open transaction");
  WR_CHECK(entry->outstanding > 0 && records_in_flight_ > 0 && bytes_in_flight_ >= bytes,
           "a refused record was in flight");
  --entry->outstanding;
  --records_in_flight_;
  bytes_in_flight_ -= bytes;
}

void AckTracker::Reset() {
  first_number_ += entries_.size();
  floor_ = first_number_;
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

// The stream up to `position` has been handled: it may be confirmed together with the last
// transaction in flight.
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
    ++first_number_;
  }
}

}  // namespace walrelay

#include "stream/ack_tracker.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {

// The frontier may move backwards here: on another timeline the old value means nothing, and a gap
// that an operator accepted ends where the slot is.
void AckTracker::Restart(Lsn position, const PublishedTransaction& last, WallTime latest_commit) {
  Reset();
  frontier_ = position;
  last_published_ = last_handled_ = last;
  latest_commit_ = latest_commit;
  resume_ = position;
  received_ = position;
  WR_CHECK(entries_.empty() && records_in_flight_ == 0 && bytes_in_flight_ == 0,
           "nothing is in flight where a stream begins");
}

// Without Reset(): acknowledgements of records in flight still arrive and still count. But what
// they confirm is read again first: a server that was restored to an earlier state may have other
// transactions there. A slot that the server has set back may also be where it was again, before
// the stream has come back there.
void AckTracker::Resume(Lsn position) {
  WR_CHECK(!open_, "a stream resumes between transactions");
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].end_lsn = std::min(entries_[i].end_lsn, position);
  }
  frontier_ = std::min(frontier_, position);
  resume_ = received_ = position;
  Pass(position);
}

// The entry is created at BEGIN, before it is known whether any row is published: its number is
// needed for the first token. Commit() removes it again if there was no record.
void AckTracker::Begin(Lsn commit_lsn, uint32_t xid, WallTime commit_time) {
  WR_CHECK(!open_, "transactions do not nest in the stream");
  WR_CHECK(entries_.empty() || entries_.back().sealed, "the transaction before has ended");
  entries_.push_back({.end_lsn = Lsn(),
                      .produced = 0,
                      .outstanding = 0,
                      .sealed = false,
                      .committed = false,
                      .settled = false,
                      .transaction = {commit_lsn, xid, commit_time}});
  latest_commit_ = std::max(latest_commit_, commit_time);
  open_ = true;
  open_produced_ = false;
  open_settled_ = false;
  WR_CHECK(records_in_flight_ == 0 || entries_.size() > 1,
           "records in flight belong to earlier transactions");
}

// The largest number is reserved: a transaction with more than four thousand million records is
// still counted correctly, only its last records cannot be named in a report.
DeliveryToken AckTracker::token() const {
  WR_CHECK(open_ && !entries_.empty(), "records belong to a transaction");
  const uint64_t number = entries_.back().produced + 1;
  const uint64_t nameable = std::min<uint64_t>(number, DeliveryToken::kUnnamedOrdinal);
  return {.transaction = static_cast<uint32_t>(first_number_ + entries_.size() - 1),
          .ordinal = static_cast<uint32_t>(nameable)};
}

const PublishedTransaction& AckTracker::open_transaction() const {
  WR_CHECK(open_ && !entries_.empty(), "a transaction is open");
  return entries_.back().transaction;
}

// A token has the low half of a number, which is unique among the transactions in flight: the
// window allows far fewer than 2^31. Any other token belongs to a transaction before them, by the
// distance of the low halves. If it is not below the floor, its last record was reported before.
AckTracker::Entry* AckTracker::Find(DeliveryToken token) {
  const auto first = static_cast<uint32_t>(first_number_);
  const uint32_t index = token.transaction - first;
  if (index < entries_.size()) {
    return &entries_[index];
  }
  const uint32_t before = first - token.transaction;
  WR_CHECK(before > first_number_ - floor_ && before < uint32_t{1} << 31,
           "a report names a transaction in flight that waits for it");
  return nullptr;
}

const AckTracker::Entry* AckTracker::Find(DeliveryToken token) const {
  return const_cast<AckTracker*>(this)->Find(token);
}

std::optional<Position> AckTracker::PositionOf(DeliveryToken token) const {
  const Entry* const entry = Find(token);
  if (entry == nullptr || token.ordinal == DeliveryToken::kUnnamedOrdinal) {
    return std::nullopt;
  }
  WR_CHECK(token.ordinal > 0, "records are counted from 1");
  const uint32_t index = token.transaction - static_cast<uint32_t>(first_number_);
  const Position first{entry->transaction.commit_lsn, Lsn(), 1};
  return marks_.Find(first_number_ + index, token.ordinal).value_or(first);
}

// Only after a failure: there may be many.
PublishedTransaction AckTracker::PartlyPublished(Lsn commit_lsn) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.transaction.commit_lsn == commit_lsn &&
        (entry.settled || entry.outstanding < entry.produced)) {
      return entry.transaction;
    }
  }
  return {};
}

void AckTracker::OnProduced(size_t bytes, Position row) {
  WR_CHECK(open_, "records belong to a transaction");
  WR_CHECK(!entries_.empty() && !entries_.back().sealed, "the open transaction is the last one");
  open_produced_ = true;
  ++entries_.back().produced;
  ++entries_.back().outstanding;
  marks_.Add(first_number_ + entries_.size() - 1, entries_.back().produced, row);
  ++records_in_flight_;
  WR_CHECK(entries_.back().outstanding <= records_in_flight_,
           "the records of one transaction are among those in flight");
  bytes_in_flight_ += bytes;
  WR_CHECK(bytes_in_flight_ >= bytes, "the bytes in flight fit their counter");
}

void AckTracker::OnSettled() {
  WR_CHECK(open_, "events belong to a transaction");
  open_settled_ = true;
  entries_.back().settled = true;
}

// The end of the COMMIT record is what may be confirmed, not its start: Postgres decides by the
// start whether a transaction was confirmed (SnapBuildXactNeedsSkip in snapbuild.c compares with
// `<`), and would send it again.
void AckTracker::Commit(Lsn end_lsn) {
  WR_CHECK(open_, "COMMIT ends a transaction");
  WR_CHECK(!entries_.empty() && !entries_.back().sealed, "the open transaction is the last one");
  Entry& entry = entries_.back();
  WR_CHECK(entry.transaction.commit_lsn <= end_lsn, "a COMMIT record ends after it begins");
  WR_CHECK(open_produced_ || entry.outstanding == 0, "only produced records are in flight");
  entry.sealed = true;
  entry.committed = true;
  entry.end_lsn = end_lsn;
  resume_ = std::max(resume_, end_lsn);
  received_ = std::max(received_, end_lsn);
  const bool has_events = open_has_events();
  open_ = false;
  if (has_events && entry.transaction.commit_lsn >= last_handled_.commit_lsn) {
    // Otherwise it was settled by a record of progress that has a later one.
    last_handled_ = entry.transaction;
  }
  if (!has_events) {
    // Its token was never handed out, so the next transaction may reuse it.
    entries_.pop_back();
    Pass(end_lsn);
  }
  Advance();
  WR_CHECK(entries_.empty() ? frontier_ >= end_lsn : entries_.back().end_lsn >= end_lsn,
           "the end of a transaction is confirmed, or waits with the last one in flight");
}

void AckTracker::OnKeepalive(Lsn wal_end) {
  received_ = std::max(received_, wal_end);
  // Inside a transaction, a keepalive's wal_end may already include the COMMIT that is yet to be
  // sent.
  if (!open_) {
    resume_ = std::max(resume_, wal_end);
    Pass(wal_end);
  }
  WR_CHECK(frontier_ <= resume_ && resume_ <= received_,
           "a keepalive confirms only what was handled");
}

// The entry has no end of its own, so that it confirms nothing of this transaction when it
// completes: only its repetition, received up to the COMMIT, may be confirmed.
void AckTracker::AbandonOpen() {
  WR_CHECK(!open_ || !entries_.empty(), "an open transaction has an entry");
  if (open_) {
    open_ = false;
    entries_.back().sealed = true;
    Advance();
  }
  WR_CHECK(entries_.empty() || entries_.back().sealed, "no entry of a lost connection stays open");
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
  const WallTime commit_time = entry.transaction.commit_time;
  Advance();
  return commit_time;
}

// The transaction stays incomplete without its COMMIT, so Advance() has nothing to do.
void AckTracker::OnRefused(DeliveryToken token, size_t bytes) {
  Entry* const entry = Find(token);
  WR_CHECK(open_ && entry == &entries_.back(), "the refused record is of the open transaction");
  WR_CHECK(entry->outstanding > 0 && records_in_flight_ > 0 && bytes_in_flight_ >= bytes,
           "a refused record was in flight");
  --entry->outstanding;
  --records_in_flight_;
  bytes_in_flight_ -= bytes;
}

// The numbers of all entries are used up: a report about one of them must not be taken for that of
// a later transaction.
void AckTracker::Reset() {
  first_number_ += entries_.size();
  WR_CHECK(first_number_ >= floor_, "no number is used twice");
  floor_ = first_number_;
  entries_.clear();
  marks_.Clear();
  open_ = false;
  records_in_flight_ = 0;
  bytes_in_flight_ = 0;
  last_handled_ = last_published_;
  resume_ = frontier_;
  received_ = frontier_;
}

std::optional<WallTime> AckTracker::oldest_commit_time() const {
  if (entries_.empty()) {
    return std::nullopt;
  }
  return entries_.front().transaction.commit_time;
}

// The stream up to `position` has been handled: it may be confirmed together with the last
// transaction in flight.
void AckTracker::Pass(Lsn position) {
  WR_CHECK(!open_ && position <= resume_, "a handled position is passed between transactions");
  if (entries_.empty()) {
    frontier_ = std::max(frontier_, position);
  } else {
    Entry& last = entries_.back();
    WR_CHECK(last.sealed, "no position passes an open transaction");
    last.end_lsn = std::max(last.end_lsn, position);
  }
}

// Runs after each report. Usually it stops at once: a front entry that is not complete holds back
// everything after it.
void AckTracker::Advance() {
  while (!entries_.empty() && entries_.front().sealed && entries_.front().outstanding == 0) {
    const Entry& first = entries_.front();
    if (first.committed && first.transaction.commit_lsn >= last_published_.commit_lsn) {
      last_published_ = first.transaction;
    }
    frontier_ = std::max(frontier_, first.end_lsn);
    entries_.pop_front();
    ++first_number_;
  }
  marks_.ForgetBefore(first_number_);
  WR_CHECK(!entries_.empty() || records_in_flight_ == 0, "each record in flight has an entry");
  WR_CHECK(!entries_.empty() || frontier_ == resume_,
           "without a transaction in flight, everything handled is confirmed");
  WR_CHECK(frontier_ <= resume_ && resume_ <= received_,
           "what is confirmed was handled, and what was handled was received");
}

}  // namespace walrelay

#include "sim_postgres.h"

#include <algorithm>
#include <utility>

#include "outbox.h"
#include "walrelay/error.h"
#include "wire.h"

namespace walrelay::sim {
namespace {

constexpr Lsn kLogBegin{0x1000000};

absl::Status Closed() {
  return Error(ErrorCode::kConnectionLost, "the server closed the connection");
}

}  // namespace

SimPostgres::SimPostgres(Context& context, const Options& options)
    : context_(context),
      options_(options),
      log_(kLogBegin),
      replicated_(kLogBegin),
      procs_(options.first_xid),
      visibility_random_(options.visibility_seed) {}

// --- applications ---

void SimPostgres::Fill(uint64_t bytes) {
  log_.Write(bytes);
  FlushAll();
}

void SimPostgres::Commit(LogTransaction transaction, bool asynchronous) {
  if (transaction.time == WallTime()) {
    transaction.time = context_.clock.WallNow() + clock_ahead_;
  }
  std::vector<int> events;
  for (const LogRow& row : transaction.rows) {
    if (row.is_event() && transaction.skipped) {
      context_.oracle.OnRollback(row.event);  // to publish it is a phantom
    } else if (row.is_event()) {
      events.push_back(row.event);
    }
  }
  log_.Commit(std::move(transaction));
  const LogTransaction& written = log_.transactions().back();
  context_.oracle.OnCommit(written.commit_lsn, events);
  context_.Note("[pg] xid {} commits at {} to {}, {} rows{}", written.xid,
                written.commit_lsn.ToString(), written.end_lsn.ToString(), written.rows.size(),
                asynchronous ? ", not flushed" : "");
  if (!asynchronous) {
    // Sent as soon as it is flushed, visible a little later.
    const Micros late = visibility_random_.Chance(50)
                            ? Micros(0)
                            : visibility_random_.Between(Micros(1), Micros(4'000));
    invisible_.push_back({written.xid, written.end_lsn, context_.now() + late, std::move(events)});
    context_.After(late, [this] { ShowWhatIsDue(); });
    FlushAll();
    return;
  }
  procs_.End(written.xid);
  context_.oracle.OnVisible(events, /*confirmed=*/false);
  context_.After(context_.random.Between(Micros(1'000), Micros(200'000)),
                 [this, incarnation = incarnation_] {
                   if (incarnation == incarnation_) {
                     FlushAll();
                   }
                 });
}

void SimPostgres::RollBackLarge(uint32_t subtransactions) {
  constexpr uint32_t kXid = 600;  // below the xids of the workload
  for (uint32_t i = 1; i <= subtransactions; ++i) {
    log_.Commit({.xid = kXid + i, .aborted = true});
  }
  FlushAll();
}

void SimPostgres::FlushAll() {
  log_.Flush();
  auto& transactions = log_.transactions();
  for (auto it = transactions.rbegin(); it != transactions.rend() && !it->durable; ++it) {
    it->durable = true;
    for (const LogRow& row : it->rows) {
      if (row.is_event() && !it->skipped) {
        context_.oracle.OnDurable(row.event);
      }
    }
  }
  Replicate();
  if (sender_) {
    const auto sender = sender_;
    sender->Pump();
  }
}

void SimPostgres::ShowWhatIsDue() {
  std::erase_if(invisible_, [this](const Invisible& each) {
    const bool waits = commits_hidden_ || each.from > context_.now() ||
                       (options_.synchronous_standby && each.end > replicated_);
    if (!waits) {
      context_.Note("[pg] xid {} is visible", each.xid);
      procs_.End(each.xid);
      context_.oracle.OnVisible(each.events, /*confirmed=*/true);
    }
    return !waits;
  });
}

void SimPostgres::HideCommits(bool hide) {
  commits_hidden_ = hide;
  ShowWhatIsDue();
}

void SimPostgres::HoldStandby(bool hold) {
  standby_held_ = hold;
  if (!hold) {
    Replicate();
  }
}

// The backends end, and their waits for a standby with them. Transactions in the WAL become visible
// whether a standby has them or not; xids that are not in the WAL are assigned again.
void SimPostgres::EndTransactions() {
  for (const Invisible& each : std::exchange(invisible_, {})) {
    if (each.end <= log_.end()) {
      context_.oracle.OnVisible(each.events, /*confirmed=*/false);
    }
  }
  procs_.Restart(log_.NextXid(options_.first_xid));
}

// The standby receives flushed WAL a little later.
void SimPostgres::Replicate() {
  if (!options_.synchronized_standby && !options_.synchronous_standby) {
    return;
  }
  const auto arrive = [this, end = log_.flushed(), incarnation = incarnation_] {
    if (incarnation == incarnation_ && !standby_held_) {
      replicated_ = std::max(replicated_, end);
      ShowWhatIsDue();
      if (const auto sender = sender_) {
        sender->Pump();
      }
    }
  };
  context_.After(context_.random.Between(Micros(500), Micros(50'000)), arrive);
}

// --- faults ---

void SimPostgres::Checkpoint() {
  if (slot_) {
    slot_->on_disk = slot_->confirmed;
  }
}

void SimPostgres::EndConnections(const absl::Status& reason) {
  ++incarnation_;
  giving_slot_up_ = false;
  if (sender_) {
    const auto sender = sender_;
    sender->End(reason);
  }
}

void SimPostgres::Lose(Lsn end) {
  log_.Truncate(end);
  rewrites_lost_ =
      std::erase_if(rewrites_, [end](const Rewrite& each) { return each.commit_lsn >= end; }) > 0;
  replicated_ = std::min(replicated_, end);
  context_.oracle.OnLogTruncated(end);
}

void SimPostgres::Crash() {
  EndConnections(Closed());
  power_ = Power::kDown;
  Lose(log_.flushed());
  EndTransactions();
  if (slot_) {
    slot_->confirmed = slot_->on_disk;
    context_.oracle.OnConfirmedForgotten();
  }
}

void SimPostgres::ShutDown(std::function<void()> done) {
  power_ = Power::kShuttingDown;
  FlushAll();
  EndTransactions();
  shut_down_ = [this, done = std::move(done)] {
    ++incarnation_;
    power_ = Power::kDown;
    log_.Write(120);  // the shutdown checkpoint
    log_.Flush();
    if (slot_ && options_.version >= 170000) {
      slot_->on_disk = slot_->confirmed;
    } else if (slot_) {
      slot_->confirmed = slot_->on_disk;
      context_.oracle.OnConfirmedForgotten();
    }
    done();
  };
  if (!sender_) {
    std::exchange(shut_down_, nullptr)();
  } else {
    const auto sender = sender_;
    sender->Stop();
  }
}

void SimPostgres::Accept() {
  power_ = Power::kUp;
  Replicate();
}

void SimPostgres::FailOver(Lsn fork, Lsn confirmed, bool with_slot) {
  former_ = ReadXids();
  EndConnections(Closed());
  if (options_.synchronous_standby) {
    context_.oracle.OnTakenBack(fork);
  }
  Lose(fork);
  EndTransactions();
  // A standby that has not received the last fork descends from an earlier timeline.
  uint32_t parent = timeline_;
  while (!ancestors_.empty() && ancestors_.back().end > fork) {
    parent = ancestors_.back().timeline;
    ancestors_.pop_back();
  }
  ancestors_.push_back({parent, fork});
  timeline_ = ++last_timeline_;
  context_.oracle.OnConfirmedForgotten();
  if (with_slot && slot_) {
    slot_ = SimSlot{.confirmed = confirmed, .on_disk = confirmed};
  } else {
    slot_.reset();
    NoteTampering();
  }
  log_.Write(200);
  FlushAll();
  if (rewrites_lost_) {
    unlogged_at_ = std::min(unlogged_at_, log_.end());
    RewriteLeaf();  // the administrator repeats the command
  }
}

void SimPostgres::Restore(Lsn end, Lsn confirmed, bool older_timeline) {
  EndConnections(Closed());
  ++restores_;
  context_.oracle.OnMemoryLost();
  restored_from_ = std::max(restored_from_, log_.end());
  Lose(std::min(end, log_.flushed()));  // a backup cannot have more
  EndTransactions();
  context_.oracle.OnConfirmedForgotten();
  slot_ = SimSlot{.confirmed = confirmed, .on_disk = confirmed};
  writes_held_ = true;
  Replicate();
  if (older_timeline) {
    timeline_ = ancestors_.back().timeline;
    ancestors_.pop_back();
    former_.reset();  // no two servers have the same timeline
  }
}

void SimPostgres::BecomeAnotherSystem() {
  former_ = ReadXids();
  EndConnections(Closed());
  EndTransactions();
  ++system_;
  Replicate();
  NoteTampering();
}

void SimPostgres::DropSlot() {
  TerminateSender();
  slot_.reset();
  NoteTampering();
}

void SimPostgres::GiveSlotUp() {
  if (!sender_) {
    InvalidateSlot();
    return;
  }
  giving_slot_up_ = true;
  const auto sender = sender_;
  sender->EndWithFarewell(
      Error(ErrorCode::kConnectionLost, "terminating connection due to administrator command"));
}

void SimPostgres::InvalidateSlot() {
  if (slot_) {
    slot_->lost = true;
    NoteTampering();
  }
}

void SimPostgres::MoveSlot(Lsn position) {
  TerminateSender();
  if (slot_) {
    slot_->confirmed = std::max(slot_->confirmed, position);
    slot_->on_disk = slot_->confirmed;
    NoteTampering();
  }
}

void SimPostgres::MakeSlot() {
  NoteTampering();
  slot_ = SimSlot{.confirmed = log_.flushed(), .on_disk = log_.flushed()};
  ++slots_made_;
}

void SimPostgres::TerminateSender() {
  if (sender_) {
    Terminate(sender_->pid());
  }
}

bool SimPostgres::Publishes(uint32_t key) const {
  return published_ && publishes_insert_ && !(leaf_unlogged_ && IsInLeaf(key));
}

void SimPostgres::NoteHiding() {
  const bool hides = !publication_exists_ || !published_ || !publishes_insert_ || leaf_unlogged_;
  hides_since_ = !hides ? std::nullopt : hides_since_ ? hides_since_ : context_.now();
}

// The catalog does not show that a leaf was unlogged for a moment.
void SimPostgres::SetLeafUnlogged(bool unlogged) {
  leaf_unlogged_ = unlogged;
  NoteHiding();
  if (unlogged) {
    ++publication_changes_;
    unlogged_at_ = log_.end();
    unlogged_seen_ = false;
  } else {
    --publication_changes_;
    unlogged_periods_.emplace_back(unlogged_at_, log_.end());
    if (!unlogged_seen_) {
      context_.coverage.Count("a leaf is unlogged between two readings");
      context_.oracle.ExcuseHidden(unlogged_at_, log_.end());
    }
  }
  RewriteLeaf();
}

void SimPostgres::RewriteLeaf() {
  leaf_storage_ = ++last_oid_;
  const uint64_t xid = Begin();
  context_.Note("[pg] xid {} makes the leaf {}", xid, leaf_unlogged_ ? "unlogged" : "logged");
  Commit({.xid = xid, .begun = context_.clock.WallNow()}, /*asynchronous=*/false);
  rewrites_.push_back({xid, log_.transactions().back().commit_lsn});
}

uint64_t SimPostgres::RewrittenBy(Lsn row) const {
  return !rewrites_.empty() && rewrites_.back().commit_lsn > row ? rewrites_.back().xid : 0;
}

void SimPostgres::ChangePublication() {
  NoteHiding();
  ++publication_changes_;
  publication_changed_at_ = context_.now();
  log_.Write(60);
  FlushAll();
}

void SimPostgres::SetPublished(bool published) {
  published_ = published;
  membership_ = published ? Membership{++last_oid_, ++publication_xmin_} : Membership();
  ChangePublication();
}

// Not a change that the relay watches: the outbox stays published.
void SimPostgres::PublishOther() {
  other_published_at_ = log_.Write(60);
  FlushAll();
}

void SimPostgres::SetPublishesInsert(bool publishes) {
  publishes_insert_ = publishes;
  ++publication_xmin_;
  ChangePublication();
}

PublicationState SimPostgres::ReadPublicationState() const {
  PublicationState look{.identity = {}, .before = log_.flushed(), .after = log_.end()};
  TableIdentity table{.name = "public.outbox", .oid = kOutboxOid, .owner = 10, .renamed_by = 690};
  if (leaf_storage_ != kLeafOid) {
    table.rewritten = {{kLeafOid, leaf_storage_}};
  }
  if (leaf_unlogged_) {
    table.unsent = {Leaf()};
  }
  if (publication_exists_) {
    look.identity = {.oid = publication_oid_, .xmin = publication_xmin_, .owner = 10};
    if (published_) {
      table.memberships = {membership_};
    }
  }
  look.identity.tables = {table};
  return look;
}

TableLeaf SimPostgres::Leaf() const {
  return {.oid = kLeafOid,
          .name = "public.outbox_leaf",
          .stream = leaf_unlogged_ ? LeafStream::kUnlogged : LeafStream::kSent};
}

XidReading SimPostgres::ReadXids() const {
  const XidSnapshot snapshot = procs_.Take();
  const WallTime now = context_.clock.WallNow();
  return {.horizon = {.xid = snapshot.xmin, .insert_lsn = log_.end(), .taken = now},
          .next = {.xid = snapshot.xmax, .taken = now},
          .system_id = std::to_string(7300 + system_),
          .timeline = timeline_,
          .publication = ReadPublicationState().identity};
}

// It writes more than the new one, unless it is idle. A transaction with an xid ends with a record.
std::optional<XidReading> SimPostgres::ReadFormerXids(uint64_t transactions) {
  if (former_) {
    former_->horizon.xid += transactions;
    former_->next.xid += transactions;
    former_->horizon.insert_lsn =
        Lsn(former_->horizon.insert_lsn.value() + transactions * kCommitBytes);
    former_->horizon.taken = former_->next.taken = context_.clock.WallNow();
  }
  return former_;
}

void SimPostgres::SetPublicationExists(bool exists) {
  publication_exists_ = exists;
  publication_oid_ = exists ? ++last_oid_ : publication_oid_;
  membership_ = {++last_oid_, ++publication_xmin_};
  ChangePublication();
  if (!exists && sender_) {
    const auto sender = sender_;
    sender->End(Error(ErrorCode::kPostgresError, "publication \"walrelay\" does not exist"));
  }
}

// --- connections ---

SourceInfo SimPostgres::Facts() const {
  SourceInfo info;
  info.server = {.system_id = std::to_string(7300 + system_),
                 .timeline = timeline_,
                 .ancestors = ancestors_,
                 .wal_end = log_.flushed(),
                 .database = "shop",
                 .version = options_.version,
                 .in_recovery = in_recovery_,
                 .now = context_.clock.WallNow() + clock_ahead_,
                 .wal_sender_timeout = options_.wal_sender_timeout};
  info.slot = Slot();
  info.server.next_xid = procs_.Take().xmax;
  info.publication = {.exists = publication_exists_, .publishes_insert = publishes_insert_};
  info.tables = {
      {.schema = "public", .name = "outbox", .oid = kOutboxOid, .published = published_}};
  info.tables.front().leaves = {{.oid = kOutboxOid, .name = "public.outbox"}, Leaf()};
  info.publication_state = ReadPublicationState();
  return info;
}

std::optional<SlotInfo> SimPostgres::Slot() const {
  if (!slot_) {
    return std::nullopt;
  }
  return SlotInfo{
      .plugin = "pgoutput",
      .database = "shop",
      .active = sender_ != nullptr,
      .active_pid = sender_ ? sender_->pid() : 0,
      .reader_started = sender_ ? std::optional(StartOfProcess(sender_->pid())) : std::nullopt,
      .restart_lsn = slot_->on_disk,
      .confirmed_flush_lsn = slot_->confirmed,
      .wal_status = slot_->lost ? "lost" : "reserved"};
}

SlotSample SimPostgres::SampleSlot() const {
  SlotSample sample{.taken = context_.clock.WallNow(),
                    .flushed = in_recovery_ ? Lsn() : log_.flushed()};
  const std::optional<SlotInfo> slot = Slot();
  if (!slot) {
    return sample;
  }
  sample.exists = true;
  sample.row = *slot;
  sample.wal_end = log_.flushed();
  if (sender_ && !sender_->link().HasRoom()) {
    sample.activity = {"Client", "WalSenderWriteData"};
  } else if (sender_ && sendable_end() < log_.flushed()) {
    sample.activity = {"IPC", "WaitForStandbyConfirmation"};
    sample.standbys = {{"standby_1", "has no reader"}};
  } else if (sender_) {
    sample.activity = {"Activity", "WalSenderMain"};
  }
  return sample;
}

std::shared_ptr<WalSender> SimPostgres::StartSender(std::shared_ptr<Link> link, int pid,
                                                    Lsn position) {
  sender_ = std::make_shared<WalSender>(*this, context_, std::move(link), pid,
                                        std::max(position, slot_->confirmed));
  return sender_;
}

void SimPostgres::Terminate(int pid) {
  if (sender_ && sender_->pid() == pid) {
    const auto sender = sender_;
    sender->End(
        Error(ErrorCode::kConnectionLost, "terminating connection due to administrator command"));
  }
}

void SimPostgres::OnConnected() {
  writes_held_ = writes_held_ && in_recovery_;
}

// --- the walsender ---

bool SimPostgres::SendsOtherRows(const LogTransaction& transaction, Lsn start) const {
  const Lsn changed = other_published_at_;
  const bool ran = transaction.rows.front().lsn < changed && changed < transaction.commit_lsn;
  const auto& log = log_.transactions();
  return !ran || std::any_of(log.begin(), log.end(), [&](const LogTransaction& other) {
    return other.commit_lsn >= std::max(start, changed) &&
           other.commit_lsn < transaction.commit_lsn && !other.aborted;
  });
}

void SimPostgres::Confirm(Lsn flush) {
  if (slot_ && flush > slot_->confirmed) {
    slot_->confirmed = flush;
    if (context_.random.Chance(10)) {
      slot_->on_disk = flush;  // restart_lsn moved: the slot is saved
    }
  }
}

void SimPostgres::OnSenderGone(const WalSender& sender) {
  if (sender_.get() != &sender) {
    return;
  }
  context_.Note("[pg] walsender {} has exited, confirmed {}", sender.pid(),
                slot_ ? slot_->confirmed.ToString() : "-");
  context_.After(Micros(0), [kept = std::move(sender_)] {});  // it may be on the call stack
  sender_ = nullptr;
  if (std::exchange(giving_slot_up_, false)) {
    InvalidateSlot();
  }
  if (shut_down_) {
    std::exchange(shut_down_, nullptr)();
  }
}

bool SimPostgres::IsPoisoned(const LogTransaction& transaction) const {
  return poisoned_ && !transaction.sends_nothing();
}

bool SimPostgres::SkipsPublication(Link& link) {
  if (skip_publication_) {
    context_.coverage.Count("server skips the publication");
    link.Send(context_.now(), std::string(kPublicationWarning));
  }
  return skip_publication_;
}

Lsn SimPostgres::sendable_end() const {
  return options_.synchronized_standby ? std::min(replicated_, log_.flushed()) : log_.flushed();
}

}  // namespace walrelay::sim

// SimPostgres: the simulated server: its WAL, its slot, and the faults of both.
//
// The slot's rules: a confirmed position only moves forward; it is kept in memory, and is on disk
// only after a checkpoint, so that a crash sets it back (before version 17 a clean restart too).
// The server does not check the positions that a client reports.
//
// Source: Postgres, src/backend/replication/slot.c; logical/logical.c,
// LogicalConfirmReceivedLocation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "context.h"
#include "outbox.h"
#include "pg_log.h"
#include "proc_array.h"
#include "random.h"
#include "slot/slot_sample.h"
#include "wal_sender.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay::sim {

struct SimSlot {
  Lsn confirmed;
  Lsn on_disk;
  bool lost = false;
};

// The start of a server process, which with its pid identifies it.
inline WallTime StartOfProcess(int pid) {
  return WallTime(Micros(pid));
}

class SimPostgres {
 public:
  enum class Power { kUp, kStarting, kShuttingDown, kDown };

  struct Options {
    int version = 150018;
    Micros wal_sender_timeout{30'000'000};
    bool synchronized_standby = false;  // walsenders wait for the standby (17+)
    bool synchronous_standby = false;   // commits wait for the standby
    uint64_t first_xid = 1'000;
    uint64_t visibility_seed = 1;  // for the time that a flushed commit stays invisible
  };

  SimPostgres(Context& context, const Options& options);

  // --- applications ---
  void Fill(uint64_t bytes);  // traffic of other tables and databases
  // Sets the time of the transaction unless it has one.
  void Commit(LogTransaction transaction, bool asynchronous);
  bool writable() const { return power_ == Power::kUp && !writes_held_ && publication_exists_; }
  Lsn WriteRow(uint64_t bytes) { return log_.Write(bytes); }
  // Writes until the WAL ends at `position`. REQUIRES: it does not end later.
  void WriteUntil(Lsn position) { log_.Write(BytesBetween(log_.end(), position)); }
  uint64_t Begin() { return procs_.Begin(); }
  void RollBack(uint64_t xid) {
    log_.RollBack(xid);
    procs_.End(xid);
  }
  int schema() const { return schema_; }
  // Whether a row of the key that is inserted now will be sent.
  bool Publishes(uint32_t key) const;
  // The xmin of a row of the leaf, unless it is that of the transaction that inserted it: ALTER
  // TABLE has written the row again. 0: it has not.
  uint64_t RewrittenBy(Lsn row) const;
  // Since when rows that are inserted are not sent; nullopt while all are.
  std::optional<MonoTime> hides_since() const { return hides_since_; }

  // --- faults ---
  void Checkpoint();
  void Crash();
  // Waits for the walsender to exit, then calls `done`.
  void ShutDown(std::function<void()> done);
  void Start() { power_ = Power::kStarting; }
  void Accept();
  // Promotes a standby whose WAL ends at `fork`.
  void FailOver(Lsn fork, Lsn confirmed, bool with_slot);
  // Restores an earlier data directory; nothing is written until a client has connected.
  void Restore(Lsn end, Lsn confirmed, bool older_timeline);
  // After Restore(): applications do not wait for a client.
  void AllowWrites() { writes_held_ = false; }
  void BecomeAnotherSystem();
  void DropSlot();
  // A checkpoint that invalidates the slot: it terminates the slot's walsender, waits until that
  // has exited, and then invalidates the slot.
  void GiveSlotUp();
  bool giving_slot_up() const { return giving_slot_up_; }
  void MoveSlot(Lsn position);
  void MakeSlot();
  // Rolls back a transaction that exceeded logical_decoding_work_mem and has this many
  // subtransactions: Postgres 18 then sends a Stream Abort for each.
  void RollBackLarge(uint32_t subtransactions);
  void TerminateSender();
  // Commit times are so much later than the time of other machines.
  void SetClockAhead(Micros ahead) {
    clock_set_back_ = clock_set_back_ || ahead < clock_ahead_;
    clock_ahead_ = ahead;
  }
  bool clock_was_set_back() const { return clock_set_back_; }
  void AlterTable() { schema_ = (schema_ + 1) % 3; }
  void SetPublished(bool published);
  // ALTER TABLE leaf SET UNLOGGED or LOGGED. It writes every row of the leaf again.
  void SetLeafUnlogged(bool unlogged);
  void SetPublicationExists(bool exists);
  void SetPublishesInsert(bool publishes);
  // Another table is added to the publication. Its rows were sent before, too: what is simulated is
  // only that they are missing from some transactions; see SendsOtherRows().
  void PublishOther();
  void Poison(bool poisoned) { poisoned_ = poisoned; }
  void CorruptNextMessage() { corrupt_next_ = true; }
  void SkipPublication(bool skip) { skip_publication_ = skip; }
  void SetInRecovery(bool in_recovery) { in_recovery_ = in_recovery; }
  bool in_recovery() const { return in_recovery_; }
  // Commits are flushed but stay invisible, as with an unresponsive synchronous standby.
  void HideCommits(bool hide);
  // The standby receives no WAL: walsenders wait for it (synchronized_standby), and commits do
  // (synchronous_standby).
  void HoldStandby(bool hold);

  // --- for connections ---
  PublicationState ReadPublicationState() const;
  XidReading ReadXids() const;
  // Of the server that was replaced, and is still reachable for some; nullopt if none was. It has
  // run so many transactions since the last call.
  std::optional<XidReading> ReadFormerXids(uint64_t transactions);
  // Where the leaf was unlogged, and is logged again: the catalog does not show it any more.
  const std::vector<std::pair<Lsn, Lsn>>& unlogged_periods() const { return unlogged_periods_; }
  // Number of publication changes that may have hidden rows, and the time of the last one.
  int publication_changes() const { return publication_changes_; }
  MonoTime publication_changed_at() const { return publication_changed_at_; }
  // A relay has received this reading, which may be older than the leaf's present state.
  void OnLeafSeen(const SourceInfo& reading) {
    const bool unlogged = !reading.publication_state.identity.tables.front().unsent.empty();
    unlogged_seen_ = unlogged_seen_ || (leaf_unlogged_ && unlogged);
  }
  SourceInfo Facts() const;
  std::optional<SlotInfo> Slot() const;
  // As src/postgres/slot_query.cc reads it.
  SlotSample SampleSlot() const;
  std::shared_ptr<WalSender> StartSender(std::shared_ptr<Link> link, int pid, Lsn position);
  void Terminate(int pid);
  void OnConnected();
  int NewPid() { return ++last_pid_; }
  Power power() const { return power_; }
  int incarnation() const { return incarnation_; }
  int restores() const { return restores_; }
  // The furthest end of the WAL before a restore.
  Lsn restored_from() const { return restored_from_; }

  // --- for the walsender ---
  void Confirm(Lsn flush);
  void OnSenderGone(const WalSender& sender);
  bool IsPoisoned(const LogTransaction& transaction) const;
  bool SkipsPublication(Link& link);
  // Whether a walsender that started at `start` sends the transaction's rows of the other table. A
  // transaction that ran while the table was published is decoded with the publication as it was
  // at its beginning, unless the walsender has sent one that committed after the change.
  bool SendsOtherRows(const LogTransaction& transaction, Lsn start) const;
  bool TakeCorruption() { return std::exchange(corrupt_next_, false); }
  const PgLog& log() const { return log_; }
  const ProcArray& procs() const { return procs_; }
  Lsn sendable_end() const;
  // The position that the synchronous standby has confirmed; 0/0 without one.
  Lsn standby_end() const { return options_.synchronous_standby ? replicated_ : Lsn(); }
  Micros wal_sender_timeout() const { return options_.wal_sender_timeout; }

  // WAL retained by the slot: from the position at which it resumes after a crash.
  uint64_t retained_bytes() const {
    return slot_ && !slot_->lost ? BytesBetween(slot_->on_disk, log_.flushed()) : 0;
  }
  const std::optional<SimSlot>& slot() const { return slot_; }
  int slots_made() const { return slots_made_; }
  const std::shared_ptr<WalSender>& sender() const { return sender_; }
  uint32_t timeline() const { return timeline_; }
  const std::vector<TimelineEnd>& ancestors() const { return ancestors_; }
  const Options& options() const { return options_; }
  // When the slot or the WAL was last tampered with.
  MonoTime tampered_at() const { return tampered_at_; }

 private:
  // A transaction whose commit is flushed but not yet visible to other sessions.
  struct Invisible {
    uint64_t xid = 0;
    Lsn end;
    MonoTime from;  // visible from then on, unless something else delays it
    std::vector<int> events;
  };

  void FlushAll();
  void ShowWhatIsDue();
  void EndTransactions();
  void Replicate();
  void EndConnections(const absl::Status& reason);
  void Lose(Lsn end);
  void InvalidateSlot();
  void NoteTampering() { tampered_at_ = context_.now(); }
  void ChangePublication();
  void RewriteLeaf();
  void NoteHiding();
  TableLeaf Leaf() const;

  Context& context_;
  const Options options_;
  PgLog log_;
  std::optional<SimSlot> slot_;
  int slots_made_ = 0;
  std::shared_ptr<WalSender> sender_;
  std::function<void()> shut_down_;  // called when the walsender has exited
  Power power_ = Power::kUp;
  int incarnation_ = 0;  // number of times that all connections were closed
  int restores_ = 0;
  Lsn restored_from_;
  int last_pid_ = 100;
  uint32_t timeline_ = 1;
  uint32_t last_timeline_ = 1;
  std::vector<TimelineEnd> ancestors_;
  int system_ = 1;
  int schema_ = 0;
  Lsn replicated_;  // end of the standby's WAL
  bool standby_held_ = false;
  ProcArray procs_;
  std::vector<Invisible> invisible_;
  bool commits_hidden_ = false;
  Micros clock_ahead_{0};
  bool clock_set_back_ = false;
  Random visibility_random_;
  MonoTime tampered_at_;
  bool published_ = true;
  bool publication_exists_ = true;
  bool publishes_insert_ = true;
  bool leaf_unlogged_ = false;
  // The commands that have written the leaf again.
  struct Rewrite {
    uint64_t xid = 0;
    Lsn commit_lsn;
  };
  std::vector<Rewrite> rewrites_;
  bool rewrites_lost_ = false;  // with the WAL that was lost last
  uint32_t leaf_storage_ = kLeafOid;
  Lsn unlogged_at_;
  std::vector<std::pair<Lsn, Lsn>> unlogged_periods_;
  bool unlogged_seen_ = false;
  std::optional<MonoTime> hides_since_;
  Lsn other_published_at_;
  uint32_t publication_oid_ = 16400;
  uint32_t publication_xmin_ = 700;
  Membership membership_{16401, 700};
  uint32_t last_oid_ = 16'401;
  int publication_changes_ = 0;
  MonoTime publication_changed_at_;
  std::optional<XidReading> former_;
  bool poisoned_ = false;
  bool corrupt_next_ = false;
  bool skip_publication_ = false;
  bool in_recovery_ = false;
  bool giving_slot_up_ = false;
  bool writes_held_ = false;
};

}  // namespace walrelay::sim

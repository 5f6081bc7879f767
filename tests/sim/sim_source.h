// SimSource: a relay's end of its connection to the simulated Postgres.
//
// Does what libpq does, on simulated time, and checks the positions that the relay sends against
// the messages that it has received.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "context.h"
#include "link.h"
#include "relay_host.h"
#include "seam_mutants.h"
#include "sim_postgres.h"
#include "walrelay/replication_source.h"

namespace walrelay::sim {

// The current state of the network between relays and the server; the same for all relays.
struct Network {
  Micros latency{500};
  size_t room = 20'000;      // bytes that fit into a connection's socket buffers
  bool unreachable = false;  // no response at all
  bool login_refused = false;
  bool full = false;  // no connection slot available
  // Called once, when a stream starts, before it acquires the slot. May be empty.
  std::function<void()> before_start;
  // For the connections that request snapshots:
  bool side_refused = false;
  bool side_hangs = false;
  int side_cuts = 0;  // number of times that open ones were cut
  bool secret_unreadable = false;
  bool kafka_secret_unreadable = false;
};

class SimSource final : public ReplicationSource {
 public:
  SimSource(Context& context, SimPostgres& server, Network& network, RelayHost& host);
  ~SimSource() override;

  absl::StatusOr<SourceInfo> Open() override;
  // A healthy simulated server is never silent.
  void SetSenderTimeout(Micros /*timeout*/) override {}
  absl::StatusOr<std::optional<SlotInfo>> InspectSlot() override;
  absl::Status TerminateBackend(int pid) override;
  absl::Status CreateSlot() override;
  absl::Status DropSlot() override;
  absl::StatusOr<std::optional<Lsn>> Start(Lsn position) override;
  absl::StatusOr<bool> Receive(size_t max_bytes) override;
  std::span<const std::string_view> pending() const override { return views_; }
  void Consume(size_t count) override;
  absl::Status SendStatus(const StandbyStatus& wanted) override;
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Finish(Micros timeout) override;
  void Close() override;
  int poll_fd() const override { return -1; }
  bool wants_write() const override { return false; }

  // For the loop: when the socket becomes readable.
  std::optional<MonoTime> ReadableAt() const;
  bool streaming() const { return sender_ != nullptr; }
  std::shared_ptr<Link> link() const { return link_; }
  WalSender* sender() const { return sender_.get(); }
  // End of the last COMMIT that was handled, and the last position that was confirmed.
  Lsn handled_end() const { return handled_end_; }
  // Likewise, of this connection, once it has read everything again that was handled before.
  Lsn handled_again() const { return handled_again_; }
  // A position behind the last event that was produced, once its COMMIT was handled; otherwise 0/0.
  Lsn events_handled() const {
    return produced_ < handled_again_ ? Lsn(produced_.value() + 1) : Lsn();
  }
  Lsn confirmed() const { return confirmed_; }
  bool dropped_slot() const { return dropped_slot_.has_value(); }
  // Whether there has been no other slot since.
  bool dropped_last_slot() const { return dropped_slot_ == server_.slots_made(); }
  // The relay writes a version of the record with a gap that it holds.
  void OnGapRecorded(const Progress& record);
  // A gap was accepted: the next slot is a different one, and may be at any position.
  // `of_the_slot`: or the server is; false for a gap of the publication.
  void OnGapAccepted(bool of_the_slot);
  bool open() const { return open_; }
  // The progress record that the relay has read on this connection; before, or if it does not read
  // one, the newest when the catalog was read.
  const std::optional<Progress>& record_seen() const { return looked_record_; }
  // Whether the record had the publication when the process first opened the source.
  bool knew_publication() const { return knew_publication_.value_or(false); }
  // Whether a transaction was handled in part.
  bool in_transaction() const { return in_transaction_; }
  // The one that the relay has read last, on any connection.
  const std::optional<Progress>& record_read() const { return record_read_; }
  // Since then.
  bool record_was_lost() const { return host_.record_losses() != losses_at_read_; }
  // Whether the stream has still to contain the last transaction of the record.
  bool awaits_last() const { return expected_ && !last_passed_; }
  // Whether the stream is before the last transaction that is recorded as published: until it has
  // come, the relay may doubt that this WAL is the one that was published.
  bool is_before_record() const;
  // Whether an earlier state of the server was restored since the process has read from it: until
  // the stream shows what it has of the events that were handled, the relay confirms nothing.
  bool was_restored() const { return server_.restores() != known_restores_; }
  // Whether the server that streams is in the state in which the stream found it.
  bool SameServer() const {
    return server_.timeline() == connected_timeline_ && server_.incarnation() == incarnation_;
  }
  void OnRecordRead(const Progress& record);
  // A producer has claimed the id. The record behind the claim may say more than the one that was
  // read before.
  void OnClaimed(const std::optional<Progress>& record);
  void OnEventProduced(int event);
  void OnProgressProduced(const Progress& record);
  // The publication changes that the stream's own read has seen, and when the stream started.
  int stream_changes() const { return stream_changes_; }
  MonoTime started_at() const { return started_at_; }
  // The pipeline of this process is replaced, and its back-offs with it. What the process has seen
  // of the server stays known. `acknowledged`: so was everything that the pipeline handled, and the
  // successor need not read it again.
  void OnReplaced(bool acknowledged);
  // The relay was notified of a later change of the publication: this stream must not confirm any
  // more.
  void ForbidConfirming() { confirming_forbidden_ = true; }
  // The stream ended cleanly, on a server that has not restarted since.
  bool finished_in_order() const {
    return finished_in_order_ && incarnation_ == server_.incarnation();
  }
  MonoTime finished_at() const { return finished_at_; }

 private:
  absl::Status CheckAlive() const;
  void Witness(std::string_view message);
  void CheckAttempts();
  void NoteFailure(const absl::Status& error);
  // Another process that holds the slot writes records that this one must read.
  void NoteHolder(const SlotInfo& slot);
  void CheckStatus(const StandbyStatus& status);
  void NoteStart(Lsn position);
  void Recall(Lsn position);
  // The end of what `record` says about the server's present WAL.
  Lsn EndOf(const Progress& record) const;
  // The frontier is a position that the server sent to an earlier process.
  void NoteFrontier(const Progress& record);
  // The events before it are published as `record` says, unless they follow its last transaction.
  Lsn KnownBefore(const Progress& record) const;
  // Up to where the WAL of the record's server and the present one are the same.
  Lsn CommonWith(const Progress& record) const;
  // Whether the WAL contains the transaction.
  bool Contains(const PublishedTransaction& transaction) const;
  void CheckRecorded(Lsn confirmed);

  Context& context_;
  SimPostgres& server_;
  Network& network_;
  RelayHost& host_;

  bool open_ = false;
  int incarnation_ = 0;
  int pid_ = 0;
  bool past_limit_ = false;          // the slot at that time
  std::optional<int> dropped_slot_;  // which of the server's slots
  bool unrecorded_ = false;  // may stream without a record: it has streamed, or there was no slot
  bool knows_slot_ = false;  // has read an existing slot, or created one
  int looked_changes_ = 0;
  int stream_changes_ = 0;
  MonoTime started_at_;
  bool confirming_forbidden_ = false;
  std::deque<MonoTime> failures_;  // of decoding, since the last progress
  std::shared_ptr<Link> link_;
  std::shared_ptr<WalSender> sender_;
  uint32_t connected_timeline_ = 0;
  bool finished_in_order_ = false;
  MonoTime finished_at_;
  Lsn looked_confirmed_;  // of the slot, as Open() read it
  std::deque<std::string> messages_;
  std::vector<std::string_view> views_;

  absl::flat_hash_set<int> own_pids_;
  absl::flat_hash_set<uint64_t> seen_;  // positions that this process may confirm
  Lsn handled_end_;
  Lsn handled_again_;
  bool in_transaction_ = false;
  Lsn produced_;  // the greatest COMMIT of an event that was produced, as far as it is in flight
  Lsn awaited_end_;
  uint32_t handled_timeline_ = 0;
  int handled_producer_ = 0;
  Lsn began_at_;           // where the process, or the history, began to be read
  bool succeeds_ = false;  // has not started a stream since its predecessor drained
  int known_restores_ = 0;
  Lsn confirmed_;  // on this connection

  bool accepted_another_ = false;  // a gap that is not one of the slot, since the last stream
  // What the relay must know from a progress record: at its first stream, and after another process
  // has held the slot.
  bool must_recall_ = true;
  std::optional<Progress> record_read_;  // last, on any connection
  int losses_at_read_ = 0;
  std::optional<Progress> looked_record_;
  bool publication_read_ = false;         // by this process, without problems
  std::optional<bool> knew_publication_;  // nullopt: not opened yet
  std::optional<Progress> memory_;
  Lsn covered_;                // by memory_
  bool claimed_ = false;       // the transactional id, since the stream started
  Lsn first_confirmed_;        // by the slot, when the stream started
  PublishedTransaction last_;  // of memory_: also one that is published in part
  bool expected_ = false;      // the stream must contain it
  bool last_passed_ = false;   // the stream has contained it
  bool rewritten_ = false;     // the WAL does not contain it, but the stream would
  // The generation of the newest record when a gap was accepted: later ones have a greater one.
  std::optional<uint64_t> accepted_generation_;
  int accepted_in_ = 0;  // RelayHost::record_losses() at that time
  // The same of an acceptance that was followed by one of another gap before it may have been
  // applied.
  std::optional<uint64_t> maybe_accepted_;
  SeamMutants wrong_eyes_;
  std::deque<MonoTime> statuses_;
  std::deque<MonoTime> attempts_;
};

}  // namespace walrelay::sim

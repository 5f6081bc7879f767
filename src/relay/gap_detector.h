// GapDetector: notices that events may be missing, and holds that finding until an operator accepts
// it.
//
// It remembers what earlier streams and readings showed (the server, the slot's position; the
// publication, in a PublicationWatch; the Kafka cluster, in a ClusterWatch), and compares each new
// reading of the source with it. A gap that was found is held
// even if a later check finds nothing: the WAL of a restored server grows past what it had sent,
// and a recreated slot may reach the expected position. The memory consists of plain values of this
// process, which may begin with those of a progress record.
//
// Single-threaded; does no I/O except log lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "relay/cluster_watch.h"
#include "relay/publication_watch.h"
#include "stream/ack_tracker.h"
#include "stream/gap.h"
#include "stream/start_position.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// Passes what a relay knows of the source to the relay that replaces it in the same process.
struct SourceMemory {
  // The detector's part.
  std::optional<ResumeState> last_stream;
  PublicationWatch::Memory publication;
  absl::Status dropping;
  std::optional<Gap> held;
  uint64_t generation = 0;
  std::optional<Progress> replaced;
  std::optional<HeldGap> accepted_gap;
  std::string cluster_id;
  // The connector's part.
  bool slot_seen = false;
  bool slot_created = false;
  bool record_seen = false;
  int backend_pid = 0;  // of the last stream
  WallTime backend_started;
};

class GapDetector {
  // Four questions are kept apart: what the memory is (last_stream_, publication_, cluster_), what
  // the last check found (found_), what an operator must decide (held_), and what was decided
  // (accepted_).
 public:
  // All arguments must outlive it. The tracker is moved only when an acceptance is applied.
  GapDetector(const SourceConfig& source, const Clock& clock, AckTracker& tracker);

  // Continues with the memory of an earlier relay's detector: a gap that it held stays held. The
  // state of another publication is not restored. Records that were in flight are read again.
  // REQUIRES: no reading was checked yet. Moves the tracker to the frontier of the last stream.
  void Restore(const SourceMemory& memory);
  // The detector's part. REQUIRES: no transaction is open.
  SourceMemory memory() const;

  // --- readings of the source

  // Compares a reading with the memory: the error of the gap that is held, or was found now
  // (reaction kGap); OK if there is none. Applies an acceptance, which moves the tracker to the
  // accepted position. `others_slot`: another process reads the slot, and is responsible for gaps
  // meanwhile. A standby server is not checked: OK. REQUIRES: no transaction is open, and nothing
  // is in flight while a gap is held.
  // `may_accept`: false while the record of what was accepted before cannot be read.
  absl::Status Check(const SourceInfo& info, bool others_slot, bool may_accept = true);

  // An operator has accepted that events before `position` are missing, which is not where the slot
  // is: the memory begins there, in a new generation. REQUIRES: the slot can be read; nothing is in
  // flight.
  void ContinueAt(Lsn position, const SourceInfo& info);

  // A stream has started on the server of this reading. REQUIRES: the last Check() of this reading
  // was OK, and the tracker is at the position of the stream.
  void OnStreamStarted(const SourceInfo& info, const StartDecision& decision);

  // Saves the tracker's positions as those of the last stream; without one, and after an acceptance
  // without a usable slot, there are none. Call it before the tracker or the stream is reset.
  // `unfinished`: Pipeline::unfinished(), where the stream may resume with the records in flight.
  void SaveResumeState(const UnfinishedTransaction& unfinished = {});

  // Another process was seen holding the slot.
  void OnSlotTaken();

  // --- the progress record

  // Whether the slot is where the last stream of this process, or an acceptance, left it. Otherwise
  // the record may know more, and is to be read before the next stream.
  bool IsWhereLeft(const SourceInfo& info) const;
  // The record was read: continues with what it says, where that is more than this process knows. A
  // gap that it says is held is held from now on; one of an earlier generation is not held any
  // more. `owner`: WR-2205 if it is the record of another pipeline. `cluster`: of Kafka, where it
  // was read. REQUIRES: no transaction is open.
  void Recall(const Progress& record, const absl::Status& owner, const std::string& cluster);
  // Notes which xids the server has assigned, and which rows behind the frontier are published, as
  // the record shows that was read or acknowledged last. It does not count after an acceptance, or
  // on another timeline.
  void OnRecorded(const Progress& record);
  // The number of gaps that operators have accepted, as far as records and this process know.
  uint64_t generation() const { return generation_; }

  // Kafka has answered as this cluster; "": unknown. Another one than before is a gap: WR-2207,
  // until an operator accepts it.
  absl::Status OnCluster(std::string_view id) { return cluster_.OnCluster(id); }

  // Remembers a reading of the publication, unless it has a problem.
  void RememberPublication(const SourceInfo& info) { publication_.Remember(info, clock_.Now()); }

  // The publication for the next record; nullopt: each reading has had a problem.
  std::optional<SeenPublication> seen_publication() const { return publication_.seen(); }

  // The slot is about to be dropped: from then on a missing slot is explained by `error`.
  void OnDropping(const absl::Status& error);
  // It was dropped, as this reading describes it. REQUIRES: OnDropping().
  void OnDropped(const SourceInfo& info);

  // --- readings of the publication by another connection

  // Whether a reading that began at `begun` shows a change that may hide rows. It is not
  // conclusive, because that connection may have reached another server: the relay's own next
  // connection decides. A reading that shows no such change is remembered.
  bool Contradicts(const PublicationState& seen, MonoTime begun, bool others_slot) {
    return !held_ && publication_.Contradicts(seen, begun, !others_slot);
  }
  // Notes that the relay is about to check what the reading shows. False if it did so already.
  bool Dispute(const PublicationIdentity& identity) { return publication_.Dispute(identity); }

  // --- the gap that is held

  // Holds the gap of `error`. REQUIRES: the reaction to `error` is kGap.
  void Hold(const absl::Status& error);
  // An operator accepts the held gap, if `id` still identifies it. False if it does not.
  bool Accept(std::string_view id);

  const std::optional<Gap>& held() const { return held_; }
  // Whether an acceptance has replaced the positions of this record.
  bool Replaces(const Progress& record) const;
  bool accepted() const { return accepted_; }
  // Must be fixed before the gap can be accepted, as of the last check; OK if nothing.
  const absl::Status& error() const { return error_; }
  uint64_t checks() const { return checks_; }  // since the gap was found

  // True once after an acceptance was applied, or the record has shown one.
  bool TakeApplied() { return std::exchange(applied_, false); }

  const std::optional<ResumeState>& last_stream() const { return last_stream_; }

 private:
  // Whether the memory is that of a stream of this process, or of an acceptance.
  bool IsOwn() const;
  // Whether a stream of this process has published everything that the record says.
  bool Knows(const Progress& record) const;
  // Everything before it is published, as far as known.
  Lsn frontier() const;
  // Whether the held gap may be accepted now: not while rows are still being hidden.
  void CheckAcceptance(const SourceInfo& info);
  // Replaces the memory by the reading, as far as the acceptance covers it.
  void ApplyAcceptance(const SourceInfo& info);
  // Replaces the memory by what was accepted: the positions of records of now do not count.
  void BeginAt(const ResumeState& state);
  // The held gap was accepted, here or elsewhere: discards what caused it.
  void Release(bool another_system);
  // The gap that the record says is held, unless it was accepted here; nullopt: none.
  std::optional<Gap> RecordedGap() const;

  const SourceConfig& source_;
  const Clock& clock_;
  AckTracker& tracker_;
  // The memory that the last stream, or the last acceptance, has left; nullopt before the first
  // stream: there is nothing to compare with.
  std::optional<ResumeState> last_stream_;
  PublicationWatch publication_;
  ClusterWatch cluster_;
  absl::Status dropping_;  // not OK: a drop of the slot was attempted
  absl::Status foreign_;   // not OK: the record is of another pipeline
  std::string read_from_;  // the cluster that the last record was read from; "": unknown
  uint64_t generation_ = 0;
  std::optional<Progress> read_;  // the newest record
  // The positions of records up to this one were replaced by an acceptance.
  std::optional<Progress> replaced_;
  std::optional<HeldGap> accepted_gap_;  // the one of the record that was accepted here last
  std::optional<Gap> held_;
  std::optional<Gap> found_;  // by the last check
  // An operator has accepted held_; the next check that finds nothing else applies it.
  bool accepted_ = false;
  // For TakeApplied(): an acceptance was applied, here or elsewhere, since the last call.
  bool applied_ = false;
  uint64_t checks_ = 0;
  absl::Status error_;
};

}  // namespace walrelay

// SlotConnector: opens the source up to the point where the slot can be read, and starts the
// stream.
//
// On each connection it checks the server, the slot and the publication, creates or drops the slot
// as configured, and frees a slot that an earlier connection of this process still holds. It also
// counts failures that repeat at the same position of the stream.
//
// Single-threaded; Open(), Start() and IsSlotInUse() block as the source's methods do.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/gap_detector.h"
#include "relay/progress_recorder.h"
#include "relay/run_state.h"
#include "stream/ack_tracker.h"
#include "stream/start_position.h"
#include "walrelay/error.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct PipelineConfig;
struct SourceConfig;

// It decides nothing about positions (DecideStart) and nothing about gaps (GapDetector): it puts
// their answers in the right order, with the queries that they need.
class SlotConnector {
 public:
  struct Parts {
    const SourceConfig& source_config;
    const PipelineConfig& pipeline_config;
    ReplicationSource& source;
    AckTracker& tracker;
    GapDetector& gaps;
    ProgressRecorder& recorder;
    RunState& state;
  };

  // `parts` must outlive it.
  explicit SlotConnector(const Parts& parts) : parts_(parts) {}

  // Continues with what the connector of an earlier relay knew: the slot that it saw is not
  // created, and its connection is not taken for another instance. REQUIRES: nothing was opened
  // yet.
  void Restore(const SourceMemory& memory);
  // Adds the connector's part.
  void AddTo(SourceMemory& memory) const;

  // Opens the source; on success the slot can be started at the position that DecideStart()
  // returns. Errors: those of ReplicationSource::Open(), of the gap that is held or was found, of
  // the publication, WR-2109 for a slot that was dropped at its limit, WR-2102 for a slot that is
  // in use. An error leaves the source as it is, open or not: the caller closes it, or polls
  // IsSlotInUse() after WR-2102. REQUIRES: no stream runs, and no transaction is open.
  absl::StatusOr<SourceInfo> Open();

  // Starts to stream from the slot. Without decision.keep_in_flight, the tracker restarts at
  // decision.position. An error leaves the tracker as it was. REQUIRES: Open() returned `info` on
  // the current connection, and DecideStart() returned `decision` for it.
  absl::Status Start(const SourceInfo& info, const StartDecision& decision);

  // Whether another process reads the slot. REQUIRES: the source is open.
  absl::StatusOr<bool> IsSlotInUse();

  // The stream failed with `error`, in the open transaction of the tracker, if any, of which `rows`
  // rows were received. Returns it, or WR-2402 if the stream has failed three times at the same
  // position: then an operator must act, and the transaction is the state's `stuck`.
  absl::Status CountFailure(const absl::Status& error, uint64_t rows);
  // The position behind the stuck transaction, if an operator has accepted to continue without the
  // rest of it, and everything before it is acknowledged.
  std::optional<Lsn> AcceptedSkip(const SourceInfo& info) const;
  // The stream begins behind the stuck transaction until the slot is confirmed there.
  void Skip(Lsn position);
  Lsn skip_to() const { return skip_to_; }
  void ForgetSkip() { skip_to_ = Lsn(); }

  // The frontier has moved: the silence of the server was not permanent.
  void OnProgress() { sender_timeout_ = Micros(0); }
  // The positions before an accepted gap mean nothing any more.
  void ForgetFailures() {
    failures_ = 0;
    skip_to_ = Lsn();
  }

  // Another connection has reached this primary. The last reading counts.
  void OnPrimarySeen(const std::string& system_id, uint32_t timeline);
  // WR-2207 if that primary is of the same system, on a newer timeline.
  absl::Status CheckNewest(const std::string& system_id, uint32_t timeline) const;

  // Whether the source was opened at least once.
  bool opened() const { return opened_; }

 private:
  // One connection, with the state of server, slot and publication.
  absl::StatusOr<SourceInfo> OpenServer();
  // Lets the gap detector know what the progress record says, unless the slot is where this process
  // left it. The slot must have been read before: then the record is not behind the slot. WR-4025
  // while a transaction that has not ended may explain why the slot is ahead of the record.
  absl::Status RecallProgress(const SourceInfo& info);
  // Reads the record once. Errors: WR-4018 without a record where one is required, and those of
  // ProgressRecorder::Read().
  absl::Status ReadRecord(const SourceInfo& info);
  // OpenServer() until nothing is left to create or drop.
  absl::StatusOr<SourceInfo> OpenSource();
  // Returns the error of the dropped slot, or OK if it need not be dropped after all.
  absl::Status DropSlotAtLimit(const SourceInfo& info);
  // Ends an earlier connection of this process, or reports that another process reads the slot.
  absl::Status FreeSlot(const SlotInfo& slot);
  void LogStart(const SourceInfo& info, const StartDecision& decision) const;
  bool MayCreateSlot() const;
  // Whether the process that reads the slot is not this one's own earlier connection.
  bool IsOthers(const SlotInfo& slot) const;
  void RecordSlotOwner(const SlotInfo& slot);
  // Doubles wal_sender_timeout for the next stream, up to ten minutes.
  void AllowMoreTime();

  Parts parts_;
  // Distinguishes an outage from settings that never worked.
  bool opened_ = false;
  bool slot_seen_ = false;     // this process has seen the slot
  bool slot_created_ = false;  // by this process
  // This process has read or written a progress record: one that is missing was deleted.
  bool record_seen_ = false;
  // The server process of the last stream: if it still reads the slot, the server has not noticed
  // yet that the stream ended. Pids repeat, in containers soon and after each restart of a server:
  // the process of another instance may have ours, but it began at another time. 0: none.
  int own_backend_pid_ = 0;
  WallTime own_backend_started_;

  // A failure counts only if there was WAL to read, beyond the position of the stream.
  Lsn wal_end_at_start_;  // of the last stream, at START_REPLICATION
  ErrorCode failure_code_{};
  Lsn failed_at_;
  int failures_ = 0;  // in a row, at that position
  Lsn skip_to_;       // 0/0: no transaction was skipped
  // For the next stream, if greater than the configured one; 0: as configured
  Micros sender_timeout_{0};
  std::string seen_system_id_;  // of the primary that another connection has reached; "": unknown
  uint32_t seen_timeline_ = 0;
  Micros stream_timeout_{0};  // wal_sender_timeout of the last stream
};

}  // namespace walrelay

// ProgressRecorder: records in the progress topic what is published, and limits what may be
// confirmed to that.
//
// One record is in flight at a time, and one is written when it is due (see RecordCadence), or in
// each Kafka transaction with events (see TransactionCommitter). It is written with the relay's own
// sink, so it costs no connection, and by its delivery token it is told apart from events. A
// record that is refused blocks publishing: otherwise Postgres would retain WAL for events that are
// already published. Without a reader, and when the user may not use the topic in mode kAuto,
// nothing is recorded, and everything may be confirmed.
//
// Single-threaded; Read() blocks as the reader does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "relay/gap_detector.h"
#include "status/relay_view.h"
#include "stream/ack_tracker.h"
#include "stream/published_proof.h"
#include "stream/record_cadence.h"
#include "stream/start_position.h"
#include "stream/xid_horizons.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"
#include "walrelay/sink.h"

namespace walrelay {

struct PipelineConfig;
struct SourceConfig;

class ProgressRecorder final : public DeliveryListener {
 public:
  struct Parts {
    const SourceConfig& source_config;
    const PipelineConfig& pipeline_config;
    const std::string& progress_topic;  // kafka.progress_topic
    const Clock& clock;
    ProgressTopic* topic;  // nullptr: progress is not recorded
    Sink& sink;
    const AckTracker& tracker;
    const GapDetector& gaps;
    Metrics& metrics;
    uint64_t seed = 0;  // for the id of the run, and for the jitter of the back-off
  };

  // `parts` must outlive it.
  explicit ProgressRecorder(const Parts& parts);

  // Whether progress is recorded.
  bool enabled() const { return topic_ != nullptr; }

  // Reads the record; nullopt: there is none. Without one, that of another pipeline of this slot,
  // if the topic has it: CheckOwner() refuses it. Records that no pipeline has written are
  // reported. With mode kAuto, WR-4016 ends the recording with a warning. Errors: those of
  // ProgressTopic::Read(), WR-1003. REQUIRES: enabled().
  absl::StatusOr<std::optional<Progress>> Read(const ServerInfo& server);
  // The record of this slot in the default topic of another pipeline: where the database was
  // renamed, and nothing names the pipeline. REQUIRES: enabled().
  std::optional<Progress> FindOfSlot(const ServerInfo& server);

  // See ProgressTopic. REQUIRES: Read() has succeeded.
  absl::StatusOr<bool> IsSettled() { return topic_->IsSettled(address_.topic); }

  // Adds the gap that is held to the newest record, so that each start of each instance holds it
  // until a record of a later generation says that it was accepted. Does nothing if the record has
  // the gap of another instance, or is another pipeline's, or if there is no record: then a
  // later start has nothing to compare with. Errors: those of ProgressTopic, and WR-4025 while a
  // transaction of the topic has not ended. REQUIRES: a gap is held; the sink does not exist,
  // so that nothing more is recorded.
  absl::Status RecordGap();

  // Whether the record has to be read before the next stream: it never was, or it is not the one
  // any more that was read.
  bool outdated() const { return !was_read_ || topic_replaced_ || superseded_; }

  // A stream has started: from now on the tracker's positions are those of this server.
  // REQUIRES: the gap detector knows of it.
  void OnStreamStarted(const SourceInfo& info, const StartDecision& decision);
  // The stream has ended: nothing is recorded until the next one.
  void OnStreamEnded();
  // A reading of another connection, not before `begun`. Ignored while nothing is recorded, and if
  // it is of another server, may be older than the stream, or if rows may have been hidden since
  // the stream started.
  void OnXidsRead(const XidReading& xids, MonoTime begun);

  // A record says this about the stream.
  struct Published {
    Lsn frontier;
    PublishedTransaction last;
    PartialTransaction partial;
  };

  // Writes a record if `published` is more than what was recorded, and a record is due; true if the
  // sink has accepted it. `requested`: the position that the server waits for. `at_once`: a
  // record is due in any case.
  bool Turn(MonoTime now, const Published& published, Lsn requested, bool at_once);
  // Writes a record, in any case; true if the sink has accepted it. Without a stream it is one
  // of the last stream.
  bool Record(MonoTime now, const Published& published);
  // Returns the proof of the published rows as of `now`, or nullopt if no stream runs or no
  // progress is recorded. The proof is current once the stream has contained the last published
  // transactions and has passed a horizon that was read since it started. Until then the server may
  // have been restored: it may lack those transactions, and may assign xids again.
  std::optional<PublishedProof> Proof(MonoTime now) const;
  // The record as the status describes it.
  RelayView::Record View() const;
  // Whether a record is in flight.
  bool in_flight() const { return in_flight_.has_value(); }
  // When to call Turn() again if nothing happens before.
  MonoTime NextDue(MonoTime now) const;
  // The sink has claimed its transactional id, and has read this record behind the claim.
  void OnClaimed(const std::optional<Progress>& record);
  // The sink was destroyed: a record in flight is not reported any more.
  void OnSinkDestroyed() {
    in_flight_.reset();
    claimed_ = false;
  }
  // Whether the sink has claimed its transactional id, if it has one: another instance may
  // record more until then.
  bool claimed() const;

  // The position up to which the slot may be confirmed.
  Lsn confirmable() const;
  // The slot's position when the stream started.
  Lsn confirmed_at_start() const { return confirmed_; }
  // Whether everything before the frontier is recorded.
  bool up_to_date() const { return !enabled() || recorded_frontier_ >= parts_.tracker.frontier(); }
  // Why the last record was refused (WR-4016); OK when none was, and after the next one was
  // acknowledged. Until then nothing is to be published.
  const absl::Status& error() const { return error_; }
  // The record that was read or acknowledged last.
  const std::optional<Progress>& recorded() const { return recorded_; }
  // The id of this relay's records, chosen at random.
  const std::string& run_id() const { return identity_.run_id; }
  // Its topic; "" before the first Read().
  const std::string& topic() const { return address_.topic; }
  // With the key of its records.
  const ProgressAddress& address() const { return address_; }
  // The Kafka cluster that the topic was read from; "" while unknown.
  const std::string& cluster_id() const { return cluster_id_; }
  // The rows that the record says are published behind its frontier: those before this position.
  // Not valid if there are none.
  Position settled_before() const;
  // Whether the record that the sink has found is not the one that this relay continued from:
  // another transaction was committed meanwhile. False again after the next Read().
  bool superseded() const { return superseded_; }
  // Whether the topic was deleted, or is another one than was read: its settings have to be
  // checked, and its record read. False again after the next Read().
  bool topic_replaced() const { return topic_replaced_; }
  // Whether the record lacks events before the frontier, and not only WAL of other tables.
  bool lacks_events() const;
  // Since when a record that was due has waited to be acknowledged; nullopt: none does.
  std::optional<MonoTime> waiting_since() const { return waiting_since_; }
  // When a record was last refused; nullopt: none was.
  std::optional<MonoTime> refused_at() const { return refused_at_; }

  // --- DeliveryListener: reports of records whose token is one of progress

  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& failure) override;

 private:
  // From now on no row is known to be published.
  void ForgetProof();
  void ContinueHorizons(const SourceInfo& info);
  bool Moved(const Published& published) const;
  // Whether a record of `published` says more of events than the last one.
  bool HasEvents(const Published& published) const;
  std::vector<XidHorizon> HorizonsBefore(Lsn frontier) const;
  Progress NextRecord(const Published& published) const;
  void ReportForeign(const ProgressReading& reading);
  absl::StatusOr<Offered> Produce(const Progress& record);
  void OnRefused(const absl::Status& refusal);

  Parts parts_;
  ProgressTopic* topic_;
  ProgressAddress address_;
  std::string cluster_id_;
  Progress identity_;  // what all records of the stream have in common
  bool was_read_ = false;
  bool streaming_ = false;
  bool superseded_ = false;
  bool topic_replaced_ = false;
  int64_t last_offset_ = -1;  // of a record of this process, since the topic was read
  bool claimed_ = false;
  // The frontier of the last record of this generation and timeline; 0/0: none.
  Lsn recorded_frontier_;
  PartialTransaction recorded_partial_;  // of that record
  Lsn confirmed_;  // by the slot, when the stream started: to confirm it again changes nothing
  // A record with a smaller frontier would say less than the last one, of the timeline before.
  Lsn first_frontier_;
  std::optional<Progress> recorded_;
  std::string recorded_gap_;  // the id of the gap that this relay has added to the record; "": none
  std::optional<Progress> in_flight_;
  std::optional<MonoTime> waiting_since_;
  std::optional<MonoTime> refused_at_;
  XidHorizons horizons_;     // passed by the frontier of the last acknowledged record
  XidStart published_from_;  // see Progress; not valid before the first reading of this generation
  std::optional<XidHorizon> earlier_horizon_;  // the last one that an earlier stream passed
  Lsn expected_until_;  // the stream must contain the last published transactions up to here
  std::optional<PublicationIdentity> publication_;  // of the stream; absent before the first one
  MonoTime stream_started_at_;
  int backend_pid_ = 0;
  WallTime server_started_;
  uint64_t sequence_ = 0;
  RecordCadence cadence_;
  Backoff retry_;
  absl::Status error_;
};

}  // namespace walrelay

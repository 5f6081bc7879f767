#include "relay/progress_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "encode/progress_codec.h"
#include "stream/gap.h"
#include "stream/progress_record.h"
#include "stream/publication_change.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// After a refusal. The cause is fixed outside of this process.
constexpr Micros kFirstRefusedRetry = std::chrono::seconds(1);
constexpr Micros kLongestRefusedRetry = std::chrono::seconds(30);
// The sink wakes the loop when it may accept the record; this is only an upper bound.
constexpr Micros kLongestRecordPause = std::chrono::seconds(1);

}  // namespace

ProgressRecorder::ProgressRecorder(const Parts& parts)
    : parts_(parts),
      topic_(parts.pipeline_config.records_progress() ? parts.topic : nullptr),
      cadence_(parts.pipeline_config.confirm_interval, parts.clock.Now()),
      retry_(kFirstRefusedRetry, kLongestRefusedRetry, parts.seed) {
  identity_.run_id = fmt::format("{:016x}", parts.seed);
}

absl::StatusOr<std::optional<Progress>> ProgressRecorder::Read(const ServerInfo& server) {
  WR_CHECK(enabled(), "a record is read where progress is recorded");
  WR_ASSIGN_OR_RETURN(address_, ProgressAddressOf(parts_.source_config, parts_.pipeline_config,
                                                  parts_.progress_topic, server.database));
  const auto reading = topic_->Read(address_);
  const bool optional = !parts_.pipeline_config.requires_record();
  if (optional && HasCode(reading.status(), ErrorCode::kProgressDenied)) {
    LogStatus(LogLevel::kWarning, "progress_not_recorded", reading.status());
    topic_ = nullptr;
    return std::nullopt;
  }
  WR_RETURN_IF_ERROR(reading.status());
  ReportForeign(*reading);
  // A transaction is reported when the coordinator has decided it, and can be read a little later.
  if (outdated() || cluster_id_ != reading->cluster_id || !reading->record) {
    recorded_ = reading->record;
  } else {
    AddVersion(recorded_, *reading->record);
  }
  topic_replaced_ = false;
  last_offset_ = -1;
  cluster_id_ = reading->cluster_id;
  was_read_ = true;
  superseded_ = false;
  return recorded_ ? recorded_ : OfSlot(reading->others, parts_.source_config, server);
}

std::optional<Progress> ProgressRecorder::FindOfSlot(const ServerInfo& server) {
  WR_CHECK(enabled(), "a record is read where progress is recorded");
  const SourceConfig& source = parts_.source_config;
  const bool named = !parts_.pipeline_config.id.empty() || !parts_.progress_topic.empty();
  return named ? std::nullopt : OfSlot(topic_->ReadOfSlot(source.slot), source, server);
}

void ProgressRecorder::ReportForeign(const ProgressReading& reading) {
  const double count = static_cast<double>(reading.foreign + reading.others.size());
  parts_.metrics.progress_foreign_records->Set(count);
  if (reading.foreign > 0) {
    LogWarning("progress_foreign_records",
               "ignoring records in the progress topic that no pipeline has written: find out who "
               "may write to it",
               {{"topic", address_.topic},
                {"records", reading.foreign},
                {"example", reading.foreign_example}});
  }
  for (const Progress& other : reading.others) {
    LogWarning("progress_shared_topic",
               "ignoring the record of another pipeline in the progress topic: each pipeline needs "
               "a topic of its own",
               {{"topic", address_.topic}, {"pipeline", Printable(other.pipeline, 128)}});
  }
}

// The record keeps its run, number and time: it says of the events what its writer has said. A gap
// that another instance has found is not replaced: an operator has to decide about both.
absl::Status ProgressRecorder::RecordGap() {
  const GapDetector& gaps = parts_.gaps;
  WR_CHECK(gaps.held().has_value(), "a gap is held");
  const Gap& gap = *gaps.held();
  const uint64_t generation = gaps.generation();
  // The record is, or may be, that of another pipeline, or of an earlier time in this cluster, and
  // each start finds the gap itself.
  const bool foreign = HasCode(gap.error, ErrorCode::kProgressForeign) ||
                       HasCode(gap.error, ErrorCode::kSystemChanged) ||
                       HasCode(gap.error, ErrorCode::kClusterChanged);
  const bool done = recorded_ && recorded_->held && recorded_->held->id == gap.id &&
                    recorded_->generation == generation;
  const bool no_positions = !gaps.last_stream() || gaps.last_stream()->awaits_slot();
  if (!enabled() || !was_read_ || foreign || done || no_positions) {
    return absl::OkStatus();
  }
  // In this order: a version that was read before the last transaction ended may not be the newest.
  WR_ASSIGN_OR_RETURN(const bool settled, topic_->IsSettled(address_.topic));
  if (!settled) {
    return Error(ErrorCode::kTransactionUnended,
                 fmt::format("topic {} has an open transaction", address_.topic));
  }
  WR_ASSIGN_OR_RETURN(const ProgressReading reading, topic_->Read(address_));
  if (!reading.record) {
    return absl::OkStatus();
  }
  Progress record = *reading.record;
  const bool accepted = record.generation > generation;
  const bool others = record.held && record.held->id != recorded_gap_;
  if (accepted || (record.generation >= generation && others)) {
    return absl::OkStatus();
  }
  if (gaps.Replaces(record)) {
    SetPositions(record, *gaps.last_stream());
    record.cluster_id = reading.cluster_id;
  }
  // A relay does not compare the publication of an earlier generation, and `progress init` records
  // none.
  if (record.generation < generation || !record.seen_publication) {
    record.seen_publication = gaps.seen_publication();
  }
  // `walrelay recover` needs what a gap of the slot leaves true; nothing outlasts an acceptance.
  const bool proof = KeepsProof(gap.error) && record.generation == generation;
  record.generation = generation;
  record.held = RecordOf(gap);
  if (!proof) {
    record.horizons.clear();
    record.published_from = {};
  }
  WR_RETURN_IF_ERROR(topic_->Write(address_, record));
  recorded_ = std::move(record);
  recorded_gap_ = gap.id;
  return absl::OkStatus();
}

// A record counts only as far as its positions are those of this stream, after a promotion up to
// the fork: otherwise nothing is confirmed before a new record is acknowledged.
void ProgressRecorder::OnStreamStarted(const SourceInfo& info, const StartDecision& decision) {
  if (!enabled()) {
    return;
  }
  WR_CHECK(was_read_, "a stream starts after the record was read");
  const uint64_t generation = parts_.gaps.generation();
  const std::string run_id = identity_.run_id;
  identity_ = ProgressFrom(parts_.source_config, parts_.pipeline_config, info);
  identity_.run_id = run_id;
  identity_.generation = generation;
  identity_.settled_before = decision.recorded_settled;
  confirmed_ = info.slot->confirmed_flush_lsn;
  if (decision.published_before > decision.position && recorded_ &&
      recorded_->run_id != identity_.run_id) {
    parts_.metrics.progress_skipped_bytes->Increment(
        static_cast<double>(BytesBetween(decision.position, decision.published_before)));
  }
  recorded_frontier_ = Lsn();
  recorded_partial_ = decision.partial;
  if (recorded_ && recorded_->generation == generation) {
    recorded_frontier_ =
        std::min(recorded_->frontier, CommonWalEnd(ResumeStateOf(*recorded_), info.server));
    if (recorded_->timeline == info.server.timeline) {
      recorded_partial_ = recorded_->partial;
    }
  }
  // The report of the one in flight may not be received.
  const bool continues = decision.keep_in_flight && in_flight_;
  first_frontier_ = std::max(recorded_frontier_, continues ? in_flight_->frontier : Lsn());
  ContinueHorizons(info);
  expected_until_ = std::max(decision.expected.commit_lsn, decision.expected_next.commit_lsn);
  stream_started_at_ = parts_.clock.Now();
  cadence_.OnStreamStarted(stream_started_at_);
  backend_pid_ = info.server.backend_pid;
  server_started_ = info.server.started;
  streaming_ = true;
}

void ProgressRecorder::ForgetProof() {
  horizons_.Clear();
  published_from_ = {};
}

// The stream continues from the record, and so does the proof: another instance may have published
// meanwhile, or an operator may have accepted a gap there. Nothing is known of rows from before an
// accepted gap, or from before a change of the publication that may have hidden rows, or of rows
// that a command wrote again: they count as not published. Behind a fork the server assigns xids
// again.
void ProgressRecorder::ContinueHorizons(const SourceInfo& info) {
  publication_ = info.publication_state.identity;
  ForgetProof();
  if (recorded_ && recorded_->generation == identity_.generation &&
      recorded_->publication == PublicationFingerprint(*publication_)) {
    horizons_.Restore(recorded_->horizons);
    horizons_.ForgetAfter(CommonWalEnd(ResumeStateOf(*recorded_), info.server));
    published_from_ = recorded_->published_from;
  }
  earlier_horizon_ = horizons_.newest();
}

void ProgressRecorder::OnStreamEnded() {
  streaming_ = false;
  waiting_since_.reset();
}

// A reading from before the stream may be of a server that has crashed since: what it had not
// flushed is lost, and the xids are assigned again. And only transactions that began after the
// stream did are certain to be in it.
void ProgressRecorder::OnXidsRead(const XidReading& xids, MonoTime begun) {
  const bool same_server =
      xids.system_id == identity_.system_id && xids.timeline == identity_.timeline;
  if (!enabled() || !streaming_ || !same_server || begun < stream_started_at_ ||
      !HidingChange(*publication_, xids.publication).empty()) {
    return;
  }
  // The command may have ended after these xids were read: the next reading begins a new proof.
  if (WroteAgain(*publication_, xids.publication)) {
    ForgetProof();
    publication_ = xids.publication;
    return;
  }
  publication_ = xids.publication;
  if (!published_from_.valid()) {
    published_from_ = xids.next;
  }
  horizons_.Add(xids.horizon);
}

bool ProgressRecorder::claimed() const {
  return claimed_ || !parts_.pipeline_config.exactly_once();
}

Lsn ProgressRecorder::confirmable() const {
  const Lsn frontier = parts_.tracker.frontier();
  return enabled() ? std::min(frontier, std::max(recorded_frontier_, confirmed_)) : frontier;
}

Position ProgressRecorder::settled_before() const {
  return recorded_partial_.valid() ? recorded_partial_.last_row().Next() : Position();
}

// A stream that ended early has not come back to the last published transaction.
bool ProgressRecorder::Moved(const Published& published) const {
  const auto order = [](Lsn frontier, const PartialTransaction& partial) {
    return std::tuple(frontier, partial.last_row());
  };
  return published.frontier >= first_frontier_ && published.frontier > published.last.commit_lsn &&
         order(published.frontier, published.partial) >
             order(recorded_frontier_, recorded_partial_);
}

// A record that is written again after a refusal may name the last transaction with a frontier
// before it: events are recorded where the frontier has passed them.
bool ProgressRecorder::HasEvents(const Published& published) const {
  return published.last.commit_lsn >= recorded_frontier_ ||
         published.partial.last_row() > recorded_partial_.last_row();
}

bool ProgressRecorder::lacks_events() const {
  return enabled() &&
         HasEvents({.frontier = {}, .last = parts_.tracker.last_published(), .partial = {}});
}

bool ProgressRecorder::Turn(MonoTime now, const Published& published, Lsn requested, bool at_once) {
  // After a refusal another attempt shows whether the cause is fixed: the events of a transaction
  // that failed with its record have to be read again first.
  const bool refused = !error_.ok();
  if (!enabled() || !streaming_ || !(Moved(published) || refused)) {
    return false;
  }
  const Unrecorded what{.events = refused || HasEvents(published),
                        .horizon = horizons_.WouldPass(published.frontier),
                        .bytes = BytesBetween(recorded_frontier_, published.frontier),
                        .requested = requested > recorded_frontier_,
                        .at_once = at_once && !refused};
  if (!cadence_.Due(now, what)) {
    return false;
  }
  waiting_since_ = waiting_since_.value_or(now);
  return Record(now, published);
}

bool ProgressRecorder::Record(MonoTime now, const Published& published) {
  if (!enabled() || in_flight_) {
    return false;
  }
  Progress record = NextRecord(published);
  const auto produced = Produce(record);
  if (!produced.ok()) {
    OnRefused(produced.status());
    return false;
  }
  if (*produced != Wait::kNone) {
    return false;
  }
  sequence_ = record.sequence;
  in_flight_ = std::move(record);
  cadence_.OnRecorded(now);
  return true;
}

// Events before the frontier of the last record: the server was restored to a state between the
// last published transaction and that frontier. A record with a smaller frontier would not count.
Progress ProgressRecorder::NextRecord(const Published& published) const {
  Progress record = identity_;
  record.frontier = std::max(published.frontier, first_frontier_);
  record.cluster_id = cluster_id_;
  record.last = published.last;
  record.settled_before = std::max(identity_.settled_before, published.last.behind());
  record.latest_commit = parts_.tracker.latest_commit();
  record.partial = published.partial;
  record.horizons = HorizonsBefore(published.frontier);
  record.published_from = published_from_;
  record.publication = PublicationFingerprint(*publication_);
  record.seen_publication = parts_.gaps.seen_publication();
  record.sequence = sequence_ + 1;
  record.written = parts_.clock.WallNow();
  return record;
}

// On a copy: a record in a Kafka transaction is of a frontier that may not be reached.
std::vector<XidHorizon> ProgressRecorder::HorizonsBefore(Lsn frontier) const {
  XidHorizons horizons = horizons_;
  horizons.Pass(frontier);
  return horizons.kept();
}

RelayView::Record ProgressRecorder::View() const {
  return {.enabled = enabled(),
          .topic = address_.topic,
          .frontier = recorded_ ? std::optional(recorded_->frontier) : std::nullopt,
          .written = recorded_ ? recorded_->written : WallTime(),
          .confirmable = confirmable(),
          .lacks_events = lacks_events(),
          .waiting_since = waiting_since_};
}

std::optional<PublishedProof> ProgressRecorder::Proof(MonoTime now) const {
  if (!enabled() || !streaming_) {
    return std::nullopt;
  }
  Progress proof = identity_;
  proof.frontier = parts_.tracker.frontier();
  proof.horizons = HorizonsBefore(proof.frontier);
  proof.published_from = published_from_;
  const bool of_this_history = proof.frontier > expected_until_;
  const bool current =
      of_this_history && !proof.horizons.empty() && proof.horizons.back() != earlier_horizon_;
  return PublishedProof{.progress = std::move(proof),
                        .current = current,
                        .backend_pid = backend_pid_,
                        .server_started = server_started_,
                        .as_of = now};
}

// The topic has one partition.
absl::StatusOr<Offered> ProgressRecorder::Produce(const Progress& record) {
  const std::string value = EncodeProgress(record);
  const Header format{kProgressFormatHeader, kProgressFormat};
  return parts_.sink.Produce({.topic = address_.topic,
                              .key = record.pipeline,
                              .value = value,
                              .headers = {&format, 1},
                              .partition = 0,
                              .timestamp = std::nullopt},
                             DeliveryToken::Progress());
}

MonoTime ProgressRecorder::NextDue(MonoTime now) const {
  const bool waits = enabled() && streaming_ && !in_flight_ && !up_to_date();
  const MonoTime later = now + kLongestRecordPause;
  return waits ? std::min(cadence_.NextDue(now), later) : later;
}

// A report of an earlier sink's record does not arrive: it was destroyed. A sink may
// outlive a stream, and the record of the one before says nothing about positions of this one,
// unless they are of the same generation and timeline.
void ProgressRecorder::OnDelivered(const Delivery& delivery) {
  WR_CHECK(delivery.token.is_progress(), "the report is of a progress record");
  if (!in_flight_) {
    return;
  }
  const Progress record = *std::exchange(in_flight_, std::nullopt);
  // Offsets of a topic only grow. -1: they are not reported.
  topic_replaced_ = topic_replaced_ || (delivery.offset >= 0 && delivery.offset <= last_offset_);
  last_offset_ = delivery.offset;
  if (record.generation == identity_.generation && record.timeline == identity_.timeline) {
    recorded_frontier_ = std::max(recorded_frontier_, record.frontier);
    recorded_partial_ = record.partial;
    horizons_.Pass(parts_.tracker.frontier());
  }
  AddVersion(recorded_, record);
  waiting_since_.reset();
  error_ = absl::OkStatus();
  retry_.Reset();
  parts_.metrics.progress_records->Increment();
}

// A purged record was never judged by a broker; the next sink gets it again. A batch of this
// topic is a single record, so smaller batches do not help.
void ProgressRecorder::OnFailed(const DeliveryFailure& failure) {
  WR_CHECK(failure.token.is_progress(), "the report is of a progress record");
  in_flight_.reset();
  parts_.metrics.produce_errors[ToString(CodeOf(failure.error))].Increment();
  const bool refused = ReactionTo(failure.error) == Reaction::kBlocked ||
                       HasCode(failure.error, ErrorCode::kBatchTooLarge);
  if (!failure.purged && refused) {
    OnRefused(failure.error);
  }
}

// The record of a transaction that was in doubt, or of another instance.
void ProgressRecorder::OnClaimed(const std::optional<Progress>& record) {
  const bool same =
      record.has_value() == recorded_.has_value() &&
      (!record || (IsSameVersion(*record, *recorded_) && record->held == recorded_->held));
  superseded_ = !same;
  claimed_ = true;
}

void ProgressRecorder::OnRefused(const absl::Status& refusal) {
  // Another program that creates it again may choose other settings.
  topic_replaced_ = topic_replaced_ || HasCode(refusal, ErrorCode::kTopicUnknown);
  const absl::Status error =
      Error(ErrorCode::kProgressDenied,
            fmt::format("topic {}: {}", address_.topic, MessageOf(refusal)), RemedyFor(refusal));
  if (error_.ok()) {
    LogStatus(LogLevel::kWarning, "progress_refused", error);
  }
  refused_at_ = parts_.clock.Now();
  error_ = error;
  cadence_.OnRefused(parts_.clock.Now() + retry_.Next());
}

}  // namespace walrelay

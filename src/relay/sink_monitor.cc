#include "relay/sink_monitor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

// Enough for the records in flight to be acknowledged, unless the login itself is the cause.
constexpr Micros kRenewTimeout = seconds(30);

// Passes each report to the part that produced the record.
class ReportDispatcher final : public DeliveryListener {
 public:
  // `transactions`: nullptr for a sink without.
  ReportDispatcher(RecordSender& sender, ProgressRecorder& recorder, Metrics& metrics,
                   TransactionHistory* transactions)
      : sender_(sender), recorder_(recorder), metrics_(metrics), transactions_(transactions) {}

  void OnDelivered(const Delivery& delivery) override {
    // The last record of each transaction, which is reported when it was committed.
    if (transactions_ != nullptr && delivery.token.is_progress()) {
      ++transactions_->committed;
      metrics_.kafka_transactions_committed->Increment();
      metrics_.kafka_commit_seconds.Observe(delivery.latency);
    }
    ListenerOf(delivery.token).OnDelivered(delivery);
  }
  void OnFailed(const DeliveryFailure& failure) override {
    ListenerOf(failure.token).OnFailed(failure);
  }

 private:
  DeliveryListener& ListenerOf(DeliveryToken token) {
    return token.is_progress() ? static_cast<DeliveryListener&>(recorder_) : sender_;
  }

  RecordSender& sender_;
  ProgressRecorder& recorder_;
  Metrics& metrics_;
  TransactionHistory* transactions_;
};

}  // namespace

// The steps depend on each other: reports first, because they name the cause of a failure and
// settle rows; then the failure; only then checks of a healthy sink.
std::optional<Restart> SinkMonitor::Turn(MonoTime now,
                                         std::optional<MonoTime> topic_awaited_since) {
  ReplaceableSink& sink = parts_.sink;
  if (!sink.exists()) {
    return std::nullopt;
  }
  ReportDispatcher reports(parts_.sender, parts_.recorder, parts_.metrics,
                           sink.uses_transactions() ? &transactions_ : nullptr);
  const uint64_t committed = transactions_.committed;
  sink.Poll(reports);
  TakeClaim();
  if (transactions_.committed > committed) {
    sink.ResetTime();
  }
  if (parts_.recorder.superseded()) {
    return Restart{.cause = Error(ErrorCode::kCommitInDoubt,
                                  "the progress record is not the one that was read before"),
                   .settled_before = std::nullopt};
  }
  // A delivery report names the cause; the sink's own status usually says only that it has
  // failed.
  const absl::Status& named = parts_.sender.failed().cause;
  WR_CHECK(!named.ok() || parts_.sender.failed().lost == 0, "a lost record has a cause");
  const absl::Status error = named.ok() ? sink.FatalError() : named;
  if (error.ok()) {
    auto restart = CheckForRefusal();
    restart = restart ? restart : CheckForStall(now, topic_awaited_since);
    return restart || !sink.exists() ? restart : CheckCredentials(now);
  }
  return sink.AwaitReports(parts_.sender.AllHaveFailed(), now) ? std::nullopt
                                                               : OnFailure(error, now);
}

void SinkMonitor::TakeClaim() {
  Transactions* transactions = parts_.sink.transactions();
  if (const auto claim = transactions != nullptr ? transactions->TakeClaim() : std::nullopt) {
    WR_CHECK(parts_.sink.uses_transactions(), "a producer with transactions claims its id");
    transactions_.claimed = true;
    transactions_.claim_error = absl::OkStatus();
    parts_.recorder.OnClaimed(claim->record);
  }
}

// If no record was lost with the sink, nothing has to be read again.
std::optional<Restart> SinkMonitor::OnFailure(const absl::Status& error, MonoTime now) {
  WR_CHECK(!error.ok(), "a failure has a cause");
  if (HasCode(error, ErrorCode::kCommitRepeated) && parts_.tracker.records_in_flight() == 0) {
    LogStatus(LogLevel::kInfo, "producer_renewed", error);  // nothing has failed
    Retire(error, now);
    return std::nullopt;
  }
  const absl::Status& unclaimed = transactions_.claim_error;
  const bool repeated = !unclaimed.ok() && CodeOf(unclaimed) == CodeOf(error);
  NoteFailure(error);
  if (parts_.tracker.records_in_flight() > 0) {
    return OnLostRecords(error);
  }
  WR_CHECK(parts_.sender.failed().lost == 0, "a lost record still counts as in flight");
  if (HasCode(error, ErrorCode::kBatchTooLarge)) {
    parts_.sink.ResetBatches();  // a single record was refused, sent alone
  }
  // A blocking row is logged with its name and retried with its own back-off; a row that does not
  // block is progress. A claim that fails repeatedly is logged once.
  const bool of_the_row = !parts_.sender.failed().cause.ok() && ScopeOf(error) != Scope::kProducer;
  const bool quiet = of_the_row || repeated || ReactionTo(error) == Reaction::kBlocked;
  LogStatus(quiet ? LogLevel::kDebug : LogLevel::kWarning, "producer_failed", error,
            {{"frontier", parts_.tracker.frontier()}});
  Retire(error, now + (of_the_row ? Micros(0) : parts_.sink.NextPause()));
  return std::nullopt;
}

// A broker's refusal marks the start of the rows to be sent alone. Without one (a fenced sink
// id, an expired sequence) no row is to blame, and all are sent as before.
std::optional<Restart> SinkMonitor::OnLostRecords(const absl::Status& error) {
  const FailedRecords& failed = parts_.sender.failed();
  WR_CHECK(!failed.first_refused || failed.lost > 0, "a refused record is lost");
  WR_CHECK(
      !failed.first_refused || (failed.first_lost && *failed.first_lost <= *failed.first_refused),
      "a refused record is never before the rows that are read again");
  // Without all reports it is unknown which rows after the frontier are acknowledged.
  const bool known = parts_.sender.AllHaveFailed() && !failed.unknown_position;
  // A progress record that is refused fails the events of its transaction, but is the cause.
  const absl::Status& recording = parts_.recorder.error();
  const bool recorded = !parts_.sink.uses_transactions() || recording.ok();
  Restart restart{.cause = recorded ? error : recording,
                  .settled_before = known ? failed.first_lost : std::nullopt};
  // A sink may fail once for a reason unrelated to any record.
  const Lsn frontier = parts_.tracker.frontier();
  const bool its_own =
      ScopeOf(error) == Scope::kProducer && std::exchange(failed_at_, frontier) != frontier;
  if (failed.first_refused && !its_own) {
    parts_.sender.StepThrough(*failed.first_refused);
    restart.single_step = true;
  }
  return restart;
}

void SinkMonitor::NoteFailure(const absl::Status& error) {
  if (!parts_.sink.uses_transactions()) {
    return;
  }
  parts_.metrics.kafka_transactions_failed[ToString(CodeOf(error))].Increment();
  transactions_.failure = error;
  transactions_.failed = parts_.clock.WallNow();
  if (transactions_.claimed) {
    parts_.sink.AllowMoreTime();
  } else {
    transactions_.claim_error = error;
  }
  // With records in flight, the restart is noted.
  if (parts_.tracker.records_in_flight() == 0) {
    parts_.board.NoteError(error, *transactions_.failed);
  }
}

// The session continues without a sink until `retry_at`. REQUIRES: nothing is in flight.
void SinkMonitor::Retire(const absl::Status& cause, MonoTime retry_at) {
  WR_CHECK(parts_.tracker.records_in_flight() == 0,
           "a producer is retired only when nothing is in flight");
  Destroy();
  parts_.sink.Retire(cause, retry_at);
}

void SinkMonitor::Destroy() {
  parts_.sink.Destroy();
  transactions_.claimed = false;
  parts_.sender.OnSinkDestroyed();
  parts_.recorder.OnSinkDestroyed();
}

// A failure to create it is not fatal while the relay runs: a file with a secret may be in the
// middle of being replaced.
void SinkMonitor::CreateIfDue(MonoTime now) {
  const absl::Status created = parts_.sink.CreateIfDue(now);
  if (!created.ok()) {
    LogStatus(LogLevel::kWarning, "producer_failed", created);
    parts_.board.NoteError(created, parts_.clock.WallNow());
  }
  WR_CHECK(parts_.sink.exists() || parts_.sink.retry_at(),
           "a stream has a producer, or a time at which the next one is due");
}

bool SinkMonitor::refused() const {
  return !parts_.recorder.error().ok() && parts_.sink.uses_transactions() &&
         parts_.tracker.records_in_flight() > 0;
}

// The record that would end the transaction was not accepted. Without it the events cannot be
// committed, and they must not hold back consumers until it is. Besides, the next stream begins
// with reading the record: the topic may have been deleted.
std::optional<Restart> SinkMonitor::CheckForRefusal() {
  if (!refused()) {
    return std::nullopt;
  }
  const absl::Status& refusal = parts_.recorder.error();
  NoteFailure(refusal);
  return Restart{.cause = refusal, .settled_before = std::nullopt};
}

// Certificates have changed, or a login was refused: a new sink reads the files again. It is
// created once nothing is in flight. If that does not happen within kRenewTimeout, because of the
// login itself, the records in flight are abandoned.
std::optional<Restart> SinkMonitor::CheckCredentials(MonoTime now) {
  ReplaceableSink& sink = parts_.sink;
  const SinkHealth health = sink.health();
  if (!health.outdated) {
    sink.CancelRenewal();
    return std::nullopt;
  }
  const MonoTime outdated_since = sink.StopForRenewal(now);
  const absl::Status cause = health.trouble.ok() ? Error(ErrorCode::kProducerFailed,
                                                         "the producer's credentials have changed")
                                                 : health.trouble;
  if (parts_.tracker.records_in_flight() == 0) {
    LogInfo("producer_renewed", "creating a producer with the current credentials",
            {{"reason", MessageOf(cause)}});
    Retire(cause, now);
  } else if (now - outdated_since > kRenewTimeout) {
    return Restart{.cause = cause, .settled_before = std::nullopt};
  }
  return std::nullopt;
}

// A topic that is looked up, and a progress record, wait since the sink was created at most: a
// new one gets the whole time as well.
std::optional<MonoTime> SinkMonitor::WaitingSince(
    const Examiner& examiner, std::optional<MonoTime> topic_awaited_since) const {
  std::optional<MonoTime> since;
  const auto add = [&since](MonoTime candidate) {
    since = std::min(since.value_or(candidate), candidate);
  };
  const MonoTime created = parts_.sink.created_at();
  const bool in_flight = parts_.tracker.records_in_flight() > 0;
  if (in_flight) {
    // Acknowledgements that a transaction withholds are progress, too.
    add(std::max(parts_.state.last_delivery, examiner.acknowledged_at().value_or(created)));
  } else if (topic_awaited_since) {
    add(std::max(created, *topic_awaited_since));
  }
  if (const auto unrecorded = parts_.recorder.waiting_since()) {
    add(std::max({created, *unrecorded, parts_.recorder.refused_at().value_or(created)}));
  }
  return since;
}

// The library's state machine may hang while brokers answer, or it knows only addresses from which
// they have moved: another client, which resolves the bootstrap servers again, finds out.
std::optional<Restart> SinkMonitor::CheckForStall(MonoTime now,
                                                  std::optional<MonoTime> topic_awaited_since) {
  WR_CHECK(parts_.sink.exists(), "only a producer that exists can stall");
  Examiner* examiner = parts_.sink.examiner();
  if (examiner == nullptr) {
    return std::nullopt;
  }
  stall_.OnFrontier(parts_.tracker.frontier());
  if (stall_.ShouldExamine(now, WaitingSince(*examiner, topic_awaited_since),
                           examiner->request_timeout())) {
    examiner->Examine();
  }
  const std::optional<Examination> found = examiner->TakeExamination();
  if (!found) {
    return std::nullopt;
  }
  const bool known = HasCode(stall_.cause(), ErrorCode::kClientStalled);
  const bool replace = stall_.OnExamined(now, found->brokers);
  const absl::Status cause = stall_.cause();
  if (!known && HasCode(cause, ErrorCode::kClientStalled)) {
    // The evidence, once: a replacement destroys it.
    LogStatus(LogLevel::kWarning, "kafka_client_stalled", cause, {{"client", found->state}});
  }
  if (!replace) {
    return std::nullopt;
  }
  parts_.metrics.clients_stalled->Increment();
  stall_.OnReplaced(parts_.tracker.frontier());
  NoteFailure(cause);
  const bool in_flight = parts_.tracker.records_in_flight() > 0;
  if (in_flight) {
    return Restart{.cause = cause, .settled_before = std::nullopt};
  }
  LogStatus(LogLevel::kWarning, "producer_failed", cause);
  Retire(cause, now);
  return std::nullopt;
}

}  // namespace walrelay

#include "sim_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "mutant.h"
#include "stream/start_position.h"
#include "walrelay/error.h"
#include "wire.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kStatusesPerSecond = 60;
constexpr size_t kAttemptsPerWindow = 40;
constexpr Micros kAttemptWindow = seconds(20);
// Three retries in a row, then one after 10, 20, 40, 80 and 120 s, or half of that.
constexpr size_t kFailuresPerWindow = 12;
constexpr Micros kFailureWindow = seconds(120);

absl::Status Lost(std::string_view what) {
  return Error(ErrorCode::kConnectionLost, what);
}

}  // namespace

SimSource::SimSource(Context& context, SimPostgres& server, Network& network, RelayHost& host)
    : context_(context),
      server_(server),
      network_(network),
      host_(host),
      known_restores_(server.restores()) {}

SimSource::~SimSource() {
  Close();
}

absl::Status SimSource::CheckAlive() const {
  return !host_.killed() && open_ && incarnation_ == server_.incarnation()
             ? absl::OkStatus()
             : Lost("the connection has gone");
}

absl::StatusOr<SourceInfo> SimSource::Open() {
  Close();
  finished_in_order_ = false;
  CheckAttempts();
  if (!host_.Pass(network_.unreachable ? kConnectTimeout : 4 * network_.latency, true)) {
    return absl::CancelledError("interrupted");
  }
  if (network_.unreachable || server_.power() == SimPostgres::Power::kDown) {
    return Error(ErrorCode::kPostgresUnreachable, "connection refused");
  }
  if (server_.power() != SimPostgres::Power::kUp) {
    return Error(ErrorCode::kPostgresShuttingDown, "the database system is not available");
  }
  if (network_.secret_unreadable) {
    return Error(ErrorCode::kSecretFile, "postgres.password: mode 0644");
  }
  if (network_.login_refused) {
    return Error(ErrorCode::kPostgresLogin, "password authentication failed");
  }
  if (network_.full) {
    return Error(ErrorCode::kNoSenderFree, "sorry, too many clients already");
  }
  open_ = true;
  incarnation_ = server_.incarnation();
  pid_ = server_.NewPid();
  looked_record_ = host_.recorded();
  knew_publication_ =
      knew_publication_.value_or(looked_record_ && looked_record_->seen_publication);
  SourceInfo info = server_.Facts();
  looked_confirmed_ = info.slot ? info.slot->confirmed_flush_lsn : Lsn();
  info.server.backend_pid = pid_;
  info.server.backend_started = StartOfProcess(pid_);
  looked_changes_ = server_.publication_changes();
  past_limit_ = host_.PastLimit(server_.retained_bytes());
  // The catalog was read; now the connection for the stream is opened.
  if (!host_.Pass(2 * network_.latency, true)) {
    return absl::CancelledError("interrupted");
  }
  WR_RETURN_IF_ERROR(CheckAlive());
  server_.OnConnected();
  // The relay does not compare what a standby shows, and does not learn what a rival has read.
  if (!info.server.in_recovery && !host_.has_rivals()) {
    server_.OnLeafSeen(info);
  }
  // The relay cannot know which rows the publication hid before the relay first read it.
  if (PublicationProblems(info, "outbox").empty() && !std::exchange(publication_read_, true) &&
      looked_record_ && !looked_record_->seen_publication) {
    context_.oracle.ExcuseHidden(Lsn(), info.publication_state.after);
  }
  SeamMutants::Misread(info);
  unrecorded_ = unrecorded_ || !info.slot;
  // What was read on a connection that then broke did not reach the relay.
  knows_slot_ = knows_slot_ || info.slot.has_value();
  if (info.slot) {
    seen_.insert(info.slot->confirmed_flush_lsn.value());
    NoteHolder(*info.slot);
  }
  // A record of another timeline allows to confirm what was published before the fork.
  for (const TimelineEnd& ancestor : info.server.ancestors) {
    seen_.insert(ancestor.end.value());
  }
  return info;
}

// An unavailable server or Kafka must not get a storm of connection attempts.
void SimSource::CheckAttempts() {
  const MonoTime now = context_.now();
  attempts_.push_back(now);
  while (attempts_.front() < now - kAttemptWindow) {
    attempts_.pop_front();
  }
  if (attempts_.size() > kAttemptsPerWindow && host_.last_report() < attempts_.front()) {
    context_.oracle.Fail("I11 liveness", "a storm of connections");
  }
}

absl::StatusOr<std::optional<SlotInfo>> SimSource::InspectSlot() {
  WR_RETURN_IF_ERROR(CheckAlive());
  const auto slot = server_.Slot();
  if (slot) {
    NoteHolder(*slot);
  }
  return slot;
}

void SimSource::NoteHolder(const SlotInfo& slot) {
  must_recall_ = must_recall_ || (slot.active && !own_pids_.contains(slot.active_pid));
}

absl::Status SimSource::TerminateBackend(int pid) {
  WR_RETURN_IF_ERROR(CheckAlive());
  const auto& holder = server_.sender();
  if (holder && holder->pid() == pid) {
    if (!own_pids_.contains(pid)) {
      context_.oracle.Fail("I11 liveness", "a relay terminated another client's connection");
    }
    context_.coverage.Count("relay terminates its own stale connection");
    server_.Terminate(pid);
  }
  return absl::OkStatus();
}

absl::Status SimSource::CreateSlot() {
  WR_RETURN_IF_ERROR(CheckAlive());
  if (knows_slot_) {
    context_.oracle.Fail("I13 gaps", "a relay creates a slot that it has seen before");
  }
  server_.MakeSlot();
  unrecorded_ = true;
  context_.coverage.Count("relay creates the slot");
  knows_slot_ = true;
  return absl::OkStatus();
}

// Valid only at the operator's limit, and only where that is configured.
absl::Status SimSource::DropSlot() {
  WR_RETURN_IF_ERROR(CheckAlive());
  if (!host_.PastLimit(server_.retained_bytes())) {
    context_.oracle.Fail(
        "I14 limit", fmt::format("a relay drops a slot whose {} retained bytes are below the limit",
                                 server_.retained_bytes()));
  }
  if (server_.sender()) {
    return Error(ErrorCode::kSlotBusy, "replication slot \"walrelay\" is active");
  }
  context_.Note("[relay {}] drops the slot, which retains {} bytes", host_.number(),
                server_.retained_bytes());
  context_.coverage.Count("relay drops the slot");
  server_.DropSlot();
  dropped_slot_ = server_.slots_made();
  // The response may be lost.
  return host_.Pass(network_.latency, false) ? CheckAlive() : Lost("killed");
}

absl::StatusOr<std::optional<Lsn>> SimSource::Start(Lsn position) {
  WR_RETURN_IF_ERROR(CheckAlive());
  if (network_.before_start && server_.slot() && !server_.slot()->lost && !server_.sender()) {
    context_.coverage.Count("the slot is moved while a stream starts");
    std::exchange(network_.before_start, nullptr)();
  }
  if (past_limit_) {
    context_.oracle.Fail("I14 limit",
                         "a relay starts a stream although the slot is past its limit");
  }
  if (!server_.slot()) {
    return Error(ErrorCode::kPostgresError, "replication slot \"walrelay\" does not exist");
  }
  if (server_.slot()->lost) {
    return Error(ErrorCode::kPostgresError, "can no longer get changes from replication slot");
  }
  if (server_.sender()) {
    return Error(ErrorCode::kSlotBusy, "replication slot \"walrelay\" is active");
  }
  if (Mutant(MutantId::kStoredPosition)) {
    position = std::max(position, host_.stored_position());
  }
  if (host_.exactly_once() && !host_.decided() && !std::exchange(unrecorded_, true)) {
    context_.oracle.Fail("EO3 progress", "a relay starts without a record");
  }
  NoteStart(position);
  Recall(position);
  seen_.insert(position.value());
  own_pids_.insert(pid_);
  link_ = std::make_shared<Link>(network_.latency, network_.room);
  sender_ = server_.StartSender(link_, pid_, position);
  confirmed_ = Lsn();
  wrong_eyes_.Forget();
  statuses_.clear();
  context_.Note("[relay {}] starts at {}, slot confirmed {}", host_.number(), position.ToString(),
                server_.slot()->confirmed.ToString());
  if (first_confirmed_ == looked_confirmed_) {
    host_.OnStreaming();  // otherwise the relay ends the stream
  }
  connected_timeline_ = server_.timeline();
  const auto sender = sender_;
  sender->Pump();
  stream_changes_ = looked_changes_;
  confirming_forbidden_ = false;
  const Lsn acquired = first_confirmed_;
  const bool running = host_.Pass(network_.latency, false);
  started_at_ = context_.now();
  if (!running) {
    return Lost("killed");
  }
  return acquired;
}

// The successor makes a producer of its own before it starts to stream.
void SimSource::OnReplaced(bool acknowledged) {
  attempts_.clear();
  failures_.clear();
  if (!acknowledged) {
    handled_end_ = Lsn();
  } else if (handled_producer_ == host_.producers()) {
    ++handled_producer_;
    succeeds_ = true;
  }
}

void SimSource::NoteStart(Lsn position) {
  handled_again_ = Lsn();
  in_transaction_ = false;
  const bool same = handled_producer_ == host_.producers() && host_.has_producer() &&
                    handled_timeline_ == server_.timeline() && !host_.has_rivals();
  // A successor knows what its predecessor's producer had published.
  if (same && std::exchange(succeeds_, false) && !was_restored()) {
    context_.oracle.OnSucceeded(began_at_, handled_end_);
  }
  if (!same) {
    // The relay may await the last transaction that it had published.
    awaited_end_ = std::max(awaited_end_, handled_end_);
    handled_end_ = produced_ = Lsn();
    began_at_ = position;
    context_.oracle.OnMemoryLost();
  }
  const bool continues = connected_timeline_ == server_.timeline() && !host_.has_rivals();
  if (!continues) {
    host_.OnNewHistory();
  }
}

absl::StatusOr<bool> SimSource::Receive(size_t max_bytes) {
  WR_CHECK(link_ != nullptr, "the source streams");
  if (host_.killed()) {
    return Lost("killed");
  }
  size_t bytes = 0;
  for (const std::string_view message : views_) {
    bytes += message.size();
  }
  bool any = link_->TakePiece();
  while (bytes < max_bytes) {
    std::optional<std::string> message = link_->Take(context_.now());
    if (!message) {
      break;
    }
    any = true;
    if (!wrong_eyes_.Misread(*message)) {
      continue;
    }
    if (*message == kPublicationWarning) {
      return Error(ErrorCode::kPublicationSkipped, "skipped loading publication");
    }
    Witness(*message);
    bytes += message->size();
    messages_.push_back(*std::move(message));
    views_.emplace_back(messages_.back());
  }
  if (any) {
    sender_->OnRoom();
  }
  if (views_.empty()) {
    if (const absl::Status ended = link_->Ended(context_.now()); !ended.ok()) {
      NoteFailure(ended);
      return ended;
    }
  }
  return any;
}

// A server whose decoding fails at one position decodes up to there on each attempt: the relay must
// back off.
void SimSource::NoteFailure(const absl::Status& error) {
  if (!HasCode(error, ErrorCode::kPostgresError)) {
    return;
  }
  const MonoTime now = context_.now();
  const MonoTime since = std::max(host_.last_report(), now - kFailureWindow);
  failures_.push_back(now);
  while (failures_.front() < since) {
    failures_.pop_front();
  }
  if (failures_.size() > kFailuresPerWindow) {
    context_.oracle.Fail("I11 liveness",
                         "a relay retries a stream that fails at one position without backing off");
  }
}

// Records the positions that the server has sent.
void SimSource::Witness(std::string_view message) {
  const char type = TypeOf(message);
  if (type == 'k') {
    seen_.insert(LsnAt(message, kKeepaliveEnd).value());
  } else if (type == 'C') {
    seen_.insert(LsnAt(message, kCommitEnd).value());
  }
}

void SimSource::Consume(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    in_transaction_ = TypeOf(views_[i]) == 'B' || (in_transaction_ && TypeOf(views_[i]) != 'C');
    // What is recorded as published passes by without being published, and may do so again.
    if (TypeOf(views_[i]) == 'C' && LsnAt(views_[i], kCommitEnd) > covered_) {
      const Lsn end = LsnAt(views_[i], kCommitEnd);
      handled_again_ = end >= std::max(handled_end_, awaited_end_) ? end : handled_again_;
      handled_end_ = std::max(handled_end_, end);
      handled_timeline_ = connected_timeline_;
      handled_producer_ = host_.producers();
    }
    if (TypeOf(views_[i]) == 'C' && memory_ && !rewritten_) {
      last_passed_ = last_passed_ || LsnAt(views_[i], kCommitEnd) > last_.commit_lsn;
    }
    messages_.pop_front();
  }
  views_.erase(views_.begin(), views_.begin() + static_cast<std::ptrdiff_t>(count));
}

absl::Status SimSource::SendStatus(const StandbyStatus& wanted) {
  WR_CHECK(link_ != nullptr, "the source streams");
  if (host_.killed()) {
    return Lost("killed");
  }
  StandbyStatus status = wanted;
  if (!SeamMutants::Misreport(status, host_.asked_to_stop())) {
    return absl::OkStatus();
  }
  CheckStatus(status);
  if (confirming_forbidden_ && !host_.asked_to_stop()) {
    context_.oracle.Fail("I13 gaps",
                         "a relay confirms although it has read that the publication changed");
  }
  confirmed_ = status.flushed;
  host_.StorePosition(status.flushed);
  if (link_->cut() || link_->TellsClosed(context_.now())) {
    return Lost("broken pipe");
  }
  if (const auto at = link_->ToServer(context_.now())) {
    std::weak_ptr<WalSender> to = sender_;
    context_.event_queue.At(*at, [to, status] {
      if (const auto sender = to.lock()) {
        sender->OnStatus(status);
      }
    });
  }
  return absl::OkStatus();
}

void SimSource::CheckStatus(const StandbyStatus& status) {
  const MonoTime now = context_.now();
  // Another instance may have recorded more: the slot would be ahead of the record of this one.
  if (host_.exactly_once() && !claimed_ && status.flushed > first_confirmed_) {
    context_.oracle.Fail("EO6 fencing", "a relay confirms before it has claimed the id");
  }
  if (status.flushed < confirmed_) {
    context_.oracle.Fail("I6 confirm sanity", "the confirmed position went back");
  }
  if (status.flushed.valid() && !seen_.contains(status.flushed.value())) {
    context_.oracle.Fail(
        "I6 confirm sanity",
        fmt::format("{} is not a position that the server sent", status.flushed.ToString()));
  }
  if (SameServer()) {
    context_.oracle.OnConfirmed(status.flushed);
    CheckRecorded(status.flushed);
  }
  statuses_.push_back(now);
  while (statuses_.front() < now - seconds(1)) {
    statuses_.pop_front();
  }
  if (statuses_.size() > kStatusesPerSecond) {
    context_.oracle.Fail("I11 liveness", "a storm of status updates");
  }
}

// --- the progress record

void SimSource::Recall(Lsn position) {
  first_confirmed_ = server_.slot()->confirmed;
  claimed_ = host_.has_producer() && host_.has_claimed();
  // An acceptance reads the record: another instance may have accepted a gap before this one.
  const bool accepted_before = std::exchange(accepted_another_, false) && memory_ &&
                               looked_record_ && memory_->generation < looked_record_->generation;
  if (std::exchange(must_recall_, false) || accepted_before) {
    memory_ = looked_record_;
    last_passed_ = false;
    const auto accepted = std::max(accepted_generation_, maybe_accepted_);
    if (memory_ && accepted && memory_->generation <= *accepted) {
      memory_.reset();  // the gap between this record and the slot was accepted
    }
  } else if (connected_timeline_ != server_.timeline() && !awaits_last()) {
    memory_.reset();  // after a promotion, a running relay publishes again from the slot's position
  }
  covered_ = memory_ ? EndOf(*memory_) : Lsn();
  const Lsn known = !memory_ ? Lsn() : memory_->partial.valid() ? CommonWith(*memory_) : covered_;
  last_ = !memory_                   ? PublishedTransaction()
          : memory_->partial.valid() ? memory_->partial.transaction
                                     : memory_->last;
  expected_ =
      last_.valid() && !last_passed_ && last_.commit_lsn >= position && last_.commit_lsn < known;
  rewritten_ = expected_ && !Contains(last_);
  if (rewritten_) {
    context_.coverage.Count("a stream starts on a rewritten WAL");
  }
}

Lsn SimSource::EndOf(const Progress& record) const {
  return std::min(record.frontier, CommonWith(record));
}

Lsn SimSource::KnownBefore(const Progress& record) const {
  return record.last.valid() ? EndOf(record) : std::min(record.settled_before, CommonWith(record));
}

Lsn SimSource::CommonWith(const Progress& record) const {
  if (record.system_id != server_.Facts().server.system_id) {
    return Lsn();
  }
  // Up to where the two histories of timelines are the same.
  std::vector<TimelineEnd> recorded = record.ancestors;
  recorded.push_back({record.timeline, Lsn(UINT64_MAX)});
  std::vector<TimelineEnd> present = server_.ancestors();
  present.push_back({server_.timeline(), Lsn(UINT64_MAX)});
  Lsn common;
  for (size_t i = 0; i < std::min(recorded.size(), present.size()); ++i) {
    if (recorded[i].timeline != present[i].timeline) {
      break;
    }
    common = std::min(recorded[i].end, present[i].end);
    if (recorded[i].end != present[i].end) {
      break;
    }
  }
  return common;
}

bool SimSource::is_before_record() const {
  const auto& newest = host_.decided();
  return newest && newest->last.valid() && newest->last.commit_lsn >= handled_end_;
}

bool SimSource::Contains(const PublishedTransaction& transaction) const {
  const auto& log = server_.log().transactions();
  return std::any_of(log.begin(), log.end(), [&](const LogTransaction& other) {
    return other.commit_lsn == transaction.commit_lsn &&
           static_cast<uint32_t>(other.xid) == transaction.xid &&
           other.time == transaction.commit_time;
  });
}

// The slot must not be ahead of the record, or a restarted relay could not tell its progress from
// that of a slot that was moved.
void SimSource::CheckRecorded(Lsn confirmed) {
  if (!host_.records_progress() || confirmed <= first_confirmed_) {
    return;
  }
  const auto& newest = host_.decided();
  // Of two instances, each with an acceptance of its own, one may not know of the other's.
  if (newest && newest->generation > 0 && host_.has_rivals()) {
    return;
  }
  // The address leads to a cluster with a record of a later generation, which the relay has not
  // noticed yet: what it has recorded here does not count.
  if (newest && record_read_ && newest->generation > record_read_->generation &&
      host_.record_losses() > 0) {
    return;
  }
  // The relay may have recorded progress in the other cluster before it noticed the change.
  const auto& elsewhere = host_.decided_elsewhere();
  const bool covered = elsewhere && confirmed <= EndOf(*elsewhere);
  if (!covered && (!newest || confirmed > EndOf(*newest))) {
    context_.oracle.Fail(
        "I19 progress",
        fmt::format("confirmed {}, but the record covers only {}", confirmed.ToString(),
                    newest ? EndOf(*newest).ToString() : "nothing"));
  }
}

void SimSource::NoteFrontier(const Progress& record) {
  seen_.insert(record.frontier.value());
  seen_.insert(EndOf(record).value());
}

void SimSource::OnRecordRead(const Progress& record) {
  looked_record_ = record;
  record_read_ = record;
  losses_at_read_ = host_.record_losses();
  NoteFrontier(record);
}

void SimSource::OnClaimed(const std::optional<Progress>& record) {
  claimed_ = true;
  if (record) {
    NoteFrontier(*record);
    must_recall_ = must_recall_ || (memory_ && memory_->Order() < record->Order());
  }
}

void SimSource::OnEventProduced(int event) {
  produced_ = std::max(produced_, context_.oracle.event(event).commit_lsn);
  if (!memory_ || !host_.records_progress()) {
    return;
  }
  if (rewritten_) {
    context_.oracle.Fail("I19 progress",
                         fmt::format("event {} is published although the WAL does not contain the "
                                     "last published transaction",
                                     event));
  }
  // A relay need not know whether there are events between the last transaction and the frontier.
  const Event& seen = context_.oracle.event(event);
  const Lsn last = memory_->last.commit_lsn;
  const bool known =
      seen.commit_lsn < KnownBefore(*memory_) && (!last.valid() || seen.commit_lsn <= last);
  if (SameServer() && seen.reported && !seen.excused && known) {
    context_.oracle.Fail("I19 progress",
                         fmt::format("event {} is published again, although it is recorded that "
                                     "everything before {} is published",
                                     event, EndOf(*memory_).ToString()));
  }
}

void SimSource::OnProgressProduced(const Progress& record) {
  const bool compared = memory_ && !record_was_lost();
  if (compared && record.Order() < memory_->Order()) {
    context_.oracle.Fail("I19 progress", "a record does not replace the one that was read");
  }
  if (compared && !was_restored() && record.generation == memory_->generation &&
      !record.last.valid() && record.settled_before < KnownBefore(*memory_)) {
    context_.oracle.Fail("I19 progress", "a record forgets what is published");
  }
  if (accepted_generation_ && record.generation <= *accepted_generation_ && !host_.has_rivals() &&
      accepted_in_ == host_.record_losses()) {
    context_.oracle.Fail("I19 progress", "a record does not replace those before the gap");
  }
  // In a transaction the record is published together with the events. A record may be in flight
  // when a restored server is reached.
  const bool of_server = !was_restored() || !record.last.valid() || Contains(record.last);
  // After a refusal, a record that says no more than the one in the topic shows whether the cause
  // is fixed. The restored server makes both of them wrong.
  const auto& newest = host_.decided();
  const bool says_more = !newest || record.generation != newest->generation ||
                         record.frontier > newest->frontier ||
                         record.last.commit_lsn > newest->last.commit_lsn;
  if (SameServer() && of_server && (says_more || !was_restored()) && !host_.exactly_once()) {
    context_.oracle.OnRecorded(record.frontier);
  }
}

// With transactions, what a gap is added to must be the newest version: when the topic is
// compacted, it takes its place. Without, a version may still be in flight.
void SimSource::OnGapRecorded(const Progress& record) {
  const auto& newest = host_.decided();
  if (!record.held || host_.has_producer()) {
    context_.oracle.Fail("I13 gaps", "a record without a gap is written beside the producer's");
  }
  if (newest && newest->generation == record.generation && !host_.has_rivals() &&
      host_.exactly_once() && newest->frontier > record.frontier) {
    context_.oracle.Fail("I19 progress", "the record of a gap forgets what is published");
  }
}

void SimSource::OnGapAccepted(bool of_the_slot) {
  dropped_slot_.reset();
  unrecorded_ = true;
  if (!of_the_slot) {
    awaited_end_ = std::max(awaited_end_, handled_end_);  // the positions are kept
  }
  handled_end_ = Lsn();
  context_.oracle.OnMemoryLost();
  if (!of_the_slot) {
    // An acceptance before it may not have been applied.
    maybe_accepted_ = std::max(maybe_accepted_, std::exchange(accepted_generation_, std::nullopt));
    accepted_another_ = true;
    return;
  }
  known_restores_ = server_.restores();
  memory_.reset();
  expected_ = false;
  must_recall_ = false;
  accepted_another_ = false;
  rewritten_ = false;
  maybe_accepted_.reset();
  accepted_in_ = host_.record_losses();
  // A record of a later generation, which it has not read, says that the gap was accepted before.
  accepted_generation_ = record_read_ ? std::optional(record_read_->generation) : std::nullopt;
}

absl::Status SimSource::Finish(Micros timeout) {
  WR_CHECK(link_ != nullptr, "the source streams");
  const auto at = link_->ToServer(context_.now());
  const auto read = std::make_shared<bool>(false);
  const Micros wait = at ? *at + network_.latency - context_.now() : timeout;
  if (at) {
    context_.event_queue.At(*at, [to = sender_, read] { *read = to->OnCopyDone(); });
  }
  const bool running = host_.Pass(std::min(wait, timeout), false);
  finished_in_order_ = running && *read;
  finished_at_ = context_.now();
  return finished_in_order_ ? absl::OkStatus() : Lost("the server did not end the stream in time");
}

// With unread bytes the kernel sends a reset, and the server may never read bytes that are in
// flight.
void SimSource::Close() {
  open_ = false;
  messages_.clear();
  views_.clear();
  if (sender_ && sender_->alive() && !link_->dark()) {
    const auto at = link_->ToServer(context_.now());
    const bool reset = link_->HasUnread() && context_.random.Chance(50);
    if (reset) {
      link_->Cut(context_.now(), Lost("reset"), false);
    }
    context_.event_queue.At(at.value_or(context_.now() + network_.latency),
                            [sender = sender_] { sender->OnClientGone(); });
  }
  sender_.reset();
  link_.reset();
}

std::optional<MonoTime> SimSource::ReadableAt() const {
  return link_ ? link_->ReadableAt() : std::nullopt;
}

}  // namespace walrelay::sim

#include "relay/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "publish/row_errors.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// One handler per alternative of a variant, chosen by overload resolution: a new message type does
// not compile until it has one.
template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it implicitly

}  // namespace

Pipeline::Pipeline(const Config& config, Router router, AckTracker& tracker, RecordSender& sender,
                   Metrics& metrics)
    : config_(config),
      router_(std::move(router)),
      tracker_(tracker),
      sender_(sender),
      metrics_(metrics),
      message_row_(config.format.message_nulls, RowLimits::For(config.limits().max_record_bytes)),
      step_(
          config, router_,
          [&config](const absl::Status& reason) { return PolicyFor(reason, config.on_error); },
          *this, metrics) {}

// The server describes each table again in each session, before its first row. Nothing of the
// earlier session may be used: OIDs and columns may have changed.
void Pipeline::StartSession(std::span<const TableInfo> tables, Lsn known_at,
                            const HistoryCheck& history, const PublishedTransaction& partial) {
  WR_CHECK(!tracker_.in_transaction() && !in_transaction(),
           "a session starts between transactions");
  WR_CHECK(row_.refusal.ok(), "a session starts without a pending row");
  router_.StartSession(tables);
  known_at_ = known_at;
  history_ = history;
  cut_ = partial.valid() ? partial : cut_;
  relations_.Clear();
  message_row_.Forget();
  blocked_row_.reset();
  last_commit_time_.reset();
}

// The relations stay until the next StartSession(): blocked_row() may still be shown.
void Pipeline::EndSession() {
  // A session that ends before the rows that are settled knows less than the one before.
  if (in_transaction() && tracker_.open_has_events() && !sender_.IsSettled(NextPosition())) {
    cut_ = tracker_.open_transaction();
  }
  sender_.EndSession(in_transaction() ? std::optional(NextPosition()) : std::nullopt);
  transactions_ = TransactionOrderCheck();
  of_origin_ = false;
  row_ = {};
}

void Pipeline::OnRestarting() {
  cut_ = tracker_.PartlyPublished(sender_.settled_before().commit_lsn);
}

UnfinishedTransaction Pipeline::unfinished() const {
  WR_CHECK(!in_transaction(), "a stream resumes between transactions");
  const Position next = sender_.settled_before();
  const bool known = cut_.valid() && cut_.commit_lsn == next.commit_lsn;
  return known && next.commit_lsn >= tracker_.resume() ? UnfinishedTransaction{cut_, next}
                                                       : UnfinishedTransaction();
}

// A row whose record is sent alone is handled only after its report.
PartialTransaction Pipeline::partial() const {
  Position next = sender_.settled_before();
  if (tracker_.open_has_events()) {
    next = std::max(next, sender_.AwaitsReport() ? CurrentPosition().Next() : NextPosition());
  }
  const PublishedTransaction& transaction =
      in_transaction() && tracker_.open_transaction().commit_lsn == next.commit_lsn
          ? tracker_.open_transaction()
          : cut_;
  const bool incomplete =
      transaction.commit_lsn == next.commit_lsn && next.commit_lsn >= tracker_.resume();
  return incomplete && next.index > 1
             ? PartialTransaction{transaction, next.row_lsn, next.index - 1}
             : PartialTransaction();
}

absl::StatusOr<Wait> Pipeline::Handle(const pgoutput::XLogData& data) {
  WR_ASSIGN_OR_RETURN(const pgoutput::Message message, decoder_.Decode(data.payload));
  message_at_ = data.start;
  const auto wait = Dispatch(message);
  if (wait.ok() && *wait == Wait::kNone) {
    blocked_row_.reset();  // kept until then, also while its record is offered again
    WR_CHECK(tracker_.in_transaction() == in_transaction(),
             "the tracker and the order check agree about the open transaction");
  }
  return wait;
}

// Inside a transaction, the position may include a COMMIT that is yet to be sent.
absl::Status Pipeline::OnKeepalive(Lsn wal_end) {
  if (!in_transaction()) {
    WR_RETURN_IF_ERROR(history_.OnSentBefore(wal_end));
  }
  tracker_.OnKeepalive(wal_end);
  return absl::OkStatus();
}

// A description of a table changes how later rows are read; an invalid message is reported when its
// turn comes.
bool Pipeline::LookAhead(const pgoutput::XLogData& data) {
  const auto message = decoder_.Decode(data.payload);
  if (!message.ok() || std::holds_alternative<pgoutput::Relation>(*message)) {
    return false;
  }
  if (std::holds_alternative<pgoutput::Begin>(*message)) {
    looks_at_origin_ = false;
  } else if (std::holds_alternative<pgoutput::Origin>(*message)) {
    looks_at_origin_ = config_.source.origin == OriginFilter::kNone;
  }
  const auto* insert = std::get_if<pgoutput::Insert>(&*message);
  if (insert == nullptr || looks_at_origin_ || !router_.IsOutbox(insert->relation_oid)) {
    return true;
  }
  const auto topic = router_.TopicOf(insert->relation_oid, insert->row);
  return !topic || sender_.Announce(*topic);
}

absl::StatusOr<Wait> Pipeline::Dispatch(const pgoutput::Message& message) {
  WR_CHECK(tracker_.in_transaction() == in_transaction(),
           "the tracker and the order check agree before each message");
  const auto handled = [](const absl::Status& status) -> absl::StatusOr<Wait> {
    WR_RETURN_IF_ERROR(status);
    return Wait::kNone;
  };
  return std::visit(
      Overloaded{
          [&](const pgoutput::Insert& insert) { return OnInsert(insert); },
          [&](const pgoutput::Begin& begin) { return handled(OnBegin(begin)); },
          [&](const pgoutput::Commit& commit) { return handled(OnCommit(commit)); },
          [&](const pgoutput::Relation& relation) { return handled(OnRelation(relation)); },
          [&](const pgoutput::Update& update) { return handled(OnUpdate(update)); },
          [&](const pgoutput::Delete& del) {
            return handled(OnNoEvent(del.relation_oid, "delete"));
          },
          [&](const pgoutput::Truncate& truncate) -> absl::StatusOr<Wait> {
            OnTruncate(truncate);
            return Wait::kNone;
          },
          [&](const pgoutput::Type& type) -> absl::StatusOr<Wait> {
            relations_.OnType(type);
            return Wait::kNone;
          },
          [&](const pgoutput::Origin&) { return handled(OnOrigin()); },
          [&](const pgoutput::StreamAbort& abort) { return handled(OnStreamAbort(abort)); },
          [&](const pgoutput::LogicalMessage& logical) { return OnMessage(logical); },
      },
      message);
}

// The order check comes first in each of these: it rejects a message before any state has changed,
// so that an error leaves the tracker as it was.
absl::Status Pipeline::OnBegin(const pgoutput::Begin& begin) {
  WR_RETURN_IF_ERROR(history_.OnBegin(begin));
  WR_RETURN_IF_ERROR(transactions_.OnBegin(begin));
  tracker_.Begin(begin.final_lsn, begin.xid, begin.commit_time);
  events_in_transaction_ = 0;
  of_origin_ = false;  // until an Origin message follows
  last_commit_time_ = begin.commit_time;
  return absl::OkStatus();
}

absl::Status Pipeline::OnCommit(const pgoutput::Commit& commit) {
  WR_RETURN_IF_ERROR(transactions_.OnCommit(commit));
  WR_CHECK(row_.refusal.ok(), "each row is settled before its transaction ends");
  tracker_.Commit(commit.end_lsn);
  // A transaction without an event still moves the position that can be confirmed.
  metrics_.transactions[events_in_transaction_ > 0 ? "published" : "empty"].Increment();
  return absl::OkStatus();
}

// Defaults, NOT NULL, enum labels and the names of types are in the catalog, and not in the stream.
// The next session reads them after this transaction, so it does not end for the same reason.
bool Pipeline::IsNewerThanCatalog() const {
  const OpenTransaction* const open = transactions_.open();
  return open != nullptr && known_at_.valid() && open->commit_lsn > known_at_;
}

absl::Status Pipeline::CheckKnown(const pgoutput::CachedRelation& relation) const {
  return !IsNewerThanCatalog() || router_.IsAsKnown(relation)
             ? absl::OkStatus()
             : Error(ErrorCode::kConnectionLost,
                     fmt::format("the columns of table {}.{} have changed; reconnecting to read "
                                 "their description from the catalog",
                                 Printable(relation.schema, 63), Printable(relation.name, 63)));
}

// A new label changes the type only, and not the table.
absl::Status Pipeline::CheckLabels(const pgoutput::Insert& insert) const {
  if (!IsNewerThanCatalog() || router_.HasKnownLabels(insert.relation_oid, insert.row)) {
    return absl::OkStatus();
  }
  const pgoutput::CachedRelation* const relation = relations_.Find(insert.relation_oid);
  WR_CHECK(relation != nullptr, "an outbox table is described with its columns");
  return Error(ErrorCode::kConnectionLost,
               fmt::format("a row of table {}.{} has a new label of an enum; reconnecting to read "
                           "the labels from the catalog",
                           Printable(relation->schema, 63), Printable(relation->name, 63)));
}

// The columns of other tables are dropped at once: a database may have a hundred thousand of them.
absl::Status Pipeline::OnRelation(const pgoutput::Relation& relation) {
  constexpr size_t kMaxOthers = 1'000'000;  // a few MiB
  const pgoutput::CachedRelation& described = relations_.Replace(relation);
  if (router_.OnRelation(described)) {
    return CheckKnown(described);
  }
  relations_.Forget(relation.oid);
  WR_CHECK(relations_.IsDescribed(relation.oid), "a table stays described without its columns");
  return relations_.others() <= kMaxOthers ? absl::OkStatus()
                                           : Error(ErrorCode::kConnectionLost,
                                                   "the server has described a million tables; "
                                                   "reconnecting to discard the descriptions");
}

// See TransactionOrderCheck: with protocol version 1 no transaction is streamed in parts.
absl::Status Pipeline::OnStreamAbort(const pgoutput::StreamAbort& abort) {
  return transactions_.OnStreamAbort(abort);
}

// The row is counted in its transaction only when it has been handled: while its record is offered
// again, its position stays the same.
absl::StatusOr<Wait> Pipeline::OnInsert(const pgoutput::Insert& insert) {
  if (transactions_.open() == nullptr) {
    return transactions_.OnRow(message_at_);
  }
  if (!relations_.IsDescribed(insert.relation_oid)) {
    return Error(
        ErrorCode::kProtocolViolation,
        fmt::format("row of table {} without a preceding Relation message", insert.relation_oid));
  }
  if (!router_.IsOutbox(insert.relation_oid)) {
    WR_RETURN_IF_ERROR(transactions_.OnRow(message_at_));
    metrics_.events_skipped["other_table"].Increment();
    return Wait::kNone;
  }
  if (of_origin_) {
    return PassRowOfOrigin();
  }
  WR_ASSIGN_OR_RETURN(const bool settled, PassSettledRow());
  if (settled) {
    return Wait::kNone;
  }
  if (row_.refusal.ok()) {
    WR_RETURN_IF_ERROR(CheckLabels(insert));
  }
  return PublishRow(insert, absl::OkStatus());
}

// A message written inside a transaction by pg_logical_emit_message(true, …) is handled like a row,
// except that it carries its own columns.
absl::StatusOr<Wait> Pipeline::OnMessage(const pgoutput::LogicalMessage& message) {
  const bool is_event = router_.TakesMessages(message.prefix);
  if (!is_event || !message.transactional) {
    // It has a position like a row.
    if (message.transactional) {
      WR_RETURN_IF_ERROR(transactions_.OnRow(message_at_));
    }
    if (is_event) {
      OnLooseMessage(message);
    } else {
      metrics_.events_skipped["other_message"].Increment();
    }
    return Wait::kNone;
  }
  if (transactions_.open() == nullptr) {
    return transactions_.OnRow(message_at_);
  }
  if (of_origin_) {
    return PassRowOfOrigin();
  }
  WR_ASSIGN_OR_RETURN(const bool settled, PassSettledRow());
  if (settled) {
    return Wait::kNone;
  }
  const absl::Status readable = message_row_.Read(message.prefix, message.content);
  // Columns may differ from message to message. The router compares names and types only when they
  // changed.
  if (message_row_.has_new_columns()) {
    router_.OnRelation(relations_.Replace(message_row_.relation()));
  }
  const pgoutput::Insert insert{kMessageRelation, message_row_.row()};
  return readable.ok() ? OnInsert(insert) : PublishRow(insert, readable);
}

// A non-transactional message belongs to no transaction: Postgres sends it even if the surrounding
// transaction rolls back, and there is no commit to confirm for it. Any role that may execute
// pg_logical_emit_message() can write one, so it must not block publishing.
void Pipeline::OnLooseMessage(const pgoutput::LogicalMessage& message) {
  WR_CHECK(!message.transactional, "a message of a transaction belongs to it");
  const absl::Status reason = Error(ErrorCode::kMessageNotTransactional,
                                    fmt::format("prefix \"{}\"", Printable(message.prefix, 63)));
  LogStatus(LogLevel::kWarning, "message_skipped", reason, {{"lsn", message.lsn}});
  metrics_.events_skipped[ToString(CodeOf(reason))].Increment();
}

// A transaction that is skipped is done when it is read, like one without an outbox row: it is
// confirmed, and proves that the server's history is the same.
absl::Status Pipeline::OnOrigin() {
  WR_RETURN_IF_ERROR(transactions_.OnOrigin());
  of_origin_ = config_.source.origin == OriginFilter::kNone;
  return absl::OkStatus();
}

// An earlier session may have published the rows before this one, with another configuration.
absl::StatusOr<Wait> Pipeline::PassRowOfOrigin() {
  WR_RETURN_IF_ERROR(transactions_.OnRow(message_at_));
  metrics_.events_skipped["origin"].Increment();
  return Wait::kNone;
}

// Sending the row again would be correct, too, but repeats the event.
absl::StatusOr<bool> Pipeline::PassSettledRow() {
  if (!sender_.IsSettled(CurrentPosition())) {
    return false;
  }
  WR_RETURN_IF_ERROR(history_.OnSettled(tracker_.open_transaction()));
  tracker_.OnSettled();
  CountRow();
  return true;
}

// Counts a row in its transaction and in the metrics, once it has been handled.
void Pipeline::CountRow() {
  const absl::Status in_order = transactions_.OnRow(message_at_);
  WR_CHECK(in_order.ok(), "a transaction is open");
  metrics_.events_received->Increment();
}

Position Pipeline::CurrentPosition() const {
  WR_CHECK(transactions_.open() != nullptr, "a row of an open transaction has a position");
  return transactions_.open()->NextRow(message_at_);
}

Position Pipeline::NextPosition() const {
  WR_CHECK(transactions_.open() != nullptr, "rows of an open transaction have positions");
  return transactions_.open()->last_row.Next();
}

absl::StatusOr<Wait> Pipeline::PublishRow(const pgoutput::Insert& insert,
                                          const absl::Status& reason) {
  const pgoutput::CachedRelation* const relation = relations_.Find(insert.relation_oid);
  WR_CHECK(relation != nullptr, "an outbox table is described with its columns");
  WR_CHECK(transactions_.open() != nullptr, "a row belongs to a transaction");
  const OpenTransaction& transaction = *transactions_.open();
  const OfferedRow row{.relation = *relation,
                       .values = insert.row,
                       .commit_time = transaction.commit_time,
                       .position = {.row = CurrentPosition(),
                                    .ordinal = transaction.rows + 1,
                                    .xid = transaction.xid,
                                    .commit_time = transaction.commit_time}};
  const auto send = [this](const Record& record) { return Send(record); };
  const auto wait =
      reason.ok() ? step_.Offer(row, row_, send) : step_.GiveUp(row, row_, reason, send);
  if (!wait.ok()) {
    Block(insert.relation_oid, insert.row);
  }
  if (!wait.ok() || *wait == Wait::kNone) {
    row_ = {};  // a blocked row is retried from the beginning
  }
  return wait;
}

// A dead letter has the row's position and token: the transaction is complete only when the brokers
// have acknowledged it.
absl::StatusOr<Offered> Pipeline::Send(const Record& record) {
  WR_ASSIGN_OR_RETURN(const Offered offered, sender_.Send(record, CurrentPosition()));
  if (offered.stored()) {
    tracker_.OnSettled();
    metrics_.events_skipped["stored"].Increment();
    CountRow();
  } else if (offered.handled()) {
    ++events_in_transaction_;
    CountRow();
    WR_CHECK(events_in_transaction_ <= transactions_.open()->rows, "each event is one row");
  }
  return offered;
}

bool Pipeline::HasRoom() {
  return LogHasRoom();
}

// A dead letter is logged when it is in flight: a line for each attempt would count rows several
// times.
void Pipeline::OnGivenUp(const GivenUpRow& given_up) {
  const bool skipped = given_up.policy == OnError::kSkip;
  const OfferedRow& row = given_up.row;
  LogAudit(
      skipped ? "row_skipped" : "dead_letter", given_up.reason,
      {{"table", fmt::format("{}.{}", row.relation.schema, row.relation.name)},
       {"row", router_.Identify(row.relation.oid, row.values)},
       {"lsn", row.position.row.commit_lsn},
       {"xid", row.position.xid},
       {"ordinal", row.position.ordinal},
       {"row_lsn", message_at_},
       {"means", skipped ? "The row is in no topic, as on_error says; publishing continues."
                         : "The row is in the dead-letter topic only, as on_error says; publishing "
                           "continues."}});
  if (skipped) {
    CountRow();
  }
}

// Copies what it shows: the views of the row end with the message, but the row blocks for longer.
void Pipeline::Block(uint32_t relation_oid, pgoutput::Tuple row) {
  WR_CHECK(relations_.Find(relation_oid) != nullptr, "an outbox table is described");
  WR_CHECK(transactions_.open() != nullptr, "a row belongs to a transaction");
  const pgoutput::CachedRelation& relation = *relations_.Find(relation_oid);
  blocked_row_ = BlockedRow{.table = fmt::format("{}.{}", relation.schema, relation.name),
                            .row = router_.Identify(relation_oid, row),
                            .commit_lsn = transactions_.open()->commit_lsn,
                            .xid = transactions_.open()->xid};
}

// An outbox row is written once. An UPDATE after the INSERT has been published cannot be part of
// the event, so the operator may treat it as an error of the application.
absl::Status Pipeline::OnUpdate(const pgoutput::Update& update) {
  if (config_.source.on_update == OnUpdate::kFail && router_.IsOutbox(update.relation_oid) &&
      transactions_.open() != nullptr && !of_origin_) {
    Block(update.relation_oid, update.row);
    WR_CHECK(blocked_row_.has_value(), "a row that blocks is named");
    return Error(ErrorCode::kUpdateRefused, blocked_row_->table);
  }
  return OnNoEvent(update.relation_oid, "update");
}

// A row without an event has a position, as every row.
absl::Status Pipeline::OnNoEvent(uint32_t relation_oid, std::string_view reason) {
  WR_RETURN_IF_ERROR(transactions_.OnRow(message_at_));
  metrics_.events_skipped[router_.IsOutbox(relation_oid) ? reason : "other_table"].Increment();
  return absl::OkStatus();
}

// Not part of any order: the rows that were truncated were committed earlier, and precede it in the
// WAL.
void Pipeline::OnTruncate(const pgoutput::Truncate& truncate) {
  for (const uint32_t oid : truncate.relation_oids) {
    if (router_.IsOutbox(oid)) {
      metrics_.events_skipped["truncate"].Increment();
      LogWarning(
          "outbox_truncated",
          "the outbox table was truncated; rows committed before are still published",
          {{"lsn", transactions_.open() != nullptr ? transactions_.open()->commit_lsn : Lsn()}});
    }
  }
}

}  // namespace walrelay

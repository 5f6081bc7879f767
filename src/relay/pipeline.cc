#include "relay/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "encode/dead_letter.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it implicitly

// The configured policy for rows that fail with `code`. nullopt: the only option is to stop.
std::optional<OnError> PolicyFor(ErrorCode code, const ErrorPolicy& policy) {
  switch (code) {
    case ErrorCode::kRouteMissing:
      return policy.null_route;
    case ErrorCode::kKeyMissing:
      return policy.null_key;
    case ErrorCode::kTopicInvalid:
      return policy.topic;
    case ErrorCode::kRecordTooLarge:
      return policy.too_large;
    case ErrorCode::kValueInvalid:
      return policy.value;
    case ErrorCode::kDeliveryRefused:
      return policy.refused;
    default:
      return std::nullopt;
  }
}

// Whether the error concerns a single row; every other error concerns the session or Kafka.
bool IsAboutTheRow(ErrorCode code) {
  return (code >= ErrorCode::kColumnMissing && code <= ErrorCode::kUpdateRefused) ||
         code == ErrorCode::kDeliveryRefused;
}

// The row's error when its record was refused while sent alone.
absl::Status RowErrorOf(const absl::Status& refusal) {
  if (!HasCode(refusal, ErrorCode::kBatchTooLarge)) {
    return refusal;
  }
  return Error(ErrorCode::kRecordTooLarge,
               fmt::format("{}; a single record exceeds the topic's limit", MessageOf(refusal)),
               "Raise the topic's max.message.bytes; walrelay retries the event automatically. To "
               "skip such rows, set on_error.too_large to \"dead_letter\" or \"skip\".");
}

}  // namespace

Pipeline::Pipeline(const Config& config, Router router, AckTracker& tracker, Metrics& metrics)
    : config_(config),
      router_(std::move(router)),
      tracker_(tracker),
      metrics_(metrics),
      message_row_(config.format.message_nulls, RowLimits::For(config.kafka.max_record_bytes)) {}

void Pipeline::StartSession(std::span<const TableFacts> tables) {
  router_.StartSession(tables);
  relations_.Clear();
  message_row_.Forget();
  assembler_ = TransactionAssembler();
  blocked_row_.reset();
  last_commit_time_.reset();
}

void Pipeline::EndSession() {
  step_.EndAttempt();
  refusal_ = absl::OkStatus();
}

void Pipeline::StepThrough(Position refused) {
  step_.Cover(refused, std::max(refused, last_offered_));
}

void Pipeline::ForgetPositions() {
  step_.Clear();
  last_offered_ = Position();
  settled_before_.reset();
}

bool Pipeline::OnRefused(DeliveryToken token, const absl::Status& error) {
  return step_.OnRefused(token, error);
}

absl::StatusOr<Pipeline::Outcome> Pipeline::Handle(const pgoutput::XLogData& data,
                                                   Producer& producer) {
  WR_ASSIGN_OR_RETURN(const pgoutput::Message message, decoder_.Decode(data.payload));
  const auto outcome = Dispatch(message, producer);
  if (outcome.ok() && *outcome == Outcome::kHandled) {
    blocked_row_.reset();  // kept until then, also while its record is offered again
  }
  return outcome;
}

absl::StatusOr<Pipeline::Outcome> Pipeline::Dispatch(const pgoutput::Message& message,
                                                     Producer& producer) {
  const auto handled = [](const absl::Status& status) -> absl::StatusOr<Outcome> {
    WR_RETURN_IF_ERROR(status);
    return Outcome::kHandled;
  };
  return std::visit(
      Overloaded{
          [&](const pgoutput::Insert& insert) { return OnInsert(insert, producer); },
          [&](const pgoutput::Begin& begin) { return handled(OnBegin(begin)); },
          [&](const pgoutput::Commit& commit) { return handled(OnCommit(commit)); },
          [&](const pgoutput::Relation& relation) { return handled(OnRelation(relation)); },
          [&](const pgoutput::Update& update) { return handled(OnUpdate(update)); },
          [&](const pgoutput::Delete& del) {
            return handled(OnNoEvent(del.relation_oid, "delete"));
          },
          [&](const pgoutput::Truncate& truncate) -> absl::StatusOr<Outcome> {
            OnTruncate(truncate);
            return Outcome::kHandled;
          },
          [&](const pgoutput::Type& type) -> absl::StatusOr<Outcome> {
            relations_.OnType(type);
            return Outcome::kHandled;
          },
          // Rows that originate from another node are events like any other.
          [](const pgoutput::Origin&) -> absl::StatusOr<Outcome> { return Outcome::kHandled; },
          [&](const pgoutput::StreamAbort& abort) { return handled(OnStreamAbort(abort)); },
          [&](const pgoutput::LogicalMessage& logical) { return OnMessage(logical, producer); },
      },
      message);
}

absl::Status Pipeline::OnBegin(const pgoutput::Begin& begin) {
  WR_RETURN_IF_ERROR(assembler_.OnBegin(begin));
  tracker_.Begin(begin.final_lsn, begin.commit_time);
  events_in_transaction_ = 0;
  last_commit_time_ = begin.commit_time;
  return absl::OkStatus();
}

absl::Status Pipeline::OnCommit(const pgoutput::Commit& commit) {
  WR_RETURN_IF_ERROR(assembler_.OnCommit(commit));
  tracker_.Commit(commit.end_lsn);
  metrics_.transactions[events_in_transaction_ > 0 ? "published" : "empty"].Increment();
  return absl::OkStatus();
}

absl::Status Pipeline::OnRelation(const pgoutput::Relation& relation) {
  constexpr size_t kMostOthers = 1'000'000;  // a few MiB
  if (router_.OnRelation(relations_.Replace(relation))) {
    return absl::OkStatus();
  }
  relations_.Forget(relation.oid);
  return relations_.others() <= kMostOthers ? absl::OkStatus()
                                            : Error(ErrorCode::kConnectionLost,
                                                    "the server has described a million tables; "
                                                    "reconnecting to discard the descriptions");
}

absl::Status Pipeline::OnStreamAbort(const pgoutput::StreamAbort& abort) {
  return assembler_.OnStreamAbort(abort);
}

absl::StatusOr<Pipeline::Outcome> Pipeline::OnInsert(const pgoutput::Insert& insert,
                                                     Producer& producer) {
  if (assembler_.open() == nullptr) {
    return assembler_.OnRow();
  }
  if (!relations_.IsDescribed(insert.relation_oid)) {
    return Error(
        ErrorCode::kProtocolViolation,
        fmt::format("row of table {} without a preceding Relation message", insert.relation_oid));
  }
  if (!router_.IsOutbox(insert.relation_oid)) {
    WR_RETURN_IF_ERROR(assembler_.OnRow());
    metrics_.events_skipped["other_table"].Increment();
    return Outcome::kHandled;
  }
  if (settled_before_ && NextPosition() < *settled_before_) {
    CountRow();
    return Outcome::kHandled;
  }
  if (!refusal_.ok()) {
    return OnUnroutable(refusal_, insert, producer);
  }
  const auto record =
      router_.Route(insert.relation_oid, insert.row, assembler_.open()->commit_time);
  const absl::StatusOr<Outcome> outcome =
      record.ok() ? Offer(*record, producer) : absl::StatusOr<Outcome>(record.status());
  if (outcome.ok()) {
    return outcome;
  }
  if (IsAboutTheRow(CodeOf(outcome.status()))) {
    return OnUnroutable(outcome.status(), insert, producer);
  }
  Block(insert.relation_oid, insert.row);
  return outcome;
}

// A message written inside a transaction by pg_logical_emit_message(true, …) is handled like a row,
// except that it carries its own columns.
absl::StatusOr<Pipeline::Outcome> Pipeline::OnMessage(const pgoutput::LogicalMessage& message,
                                                      Producer& producer) {
  const bool is_event = router_.TakesMessages(message.prefix);
  if (!is_event || !message.transactional) {
    if (message.transactional) {
      WR_RETURN_IF_ERROR(assembler_.OnRow());
    }
    if (is_event) {
      OnLooseMessage(message);
    } else {
      metrics_.events_skipped["other_message"].Increment();
    }
    return Outcome::kHandled;
  }
  if (assembler_.open() == nullptr) {
    return assembler_.OnRow();
  }
  const absl::Status readable = message_row_.Read(message.prefix, message.content);
  if (message_row_.has_new_columns()) {
    router_.OnRelation(relations_.Replace(message_row_.relation()));
  }
  const pgoutput::Insert insert{kMessageRelation, message_row_.row()};
  return readable.ok() ? OnInsert(insert, producer) : OnUnroutable(readable, insert, producer);
}

// A non-transactional message belongs to no transaction: Postgres sends it even if the surrounding
// transaction rolls back, and there is no commit to confirm for it. Any role that may execute
// pg_logical_emit_message() can write one, so it must not block publishing.
void Pipeline::OnLooseMessage(const pgoutput::LogicalMessage& message) {
  const absl::Status reason = Error(ErrorCode::kMessageNotTransactional,
                                    fmt::format("prefix \"{}\"", Printable(message.prefix, 63)));
  LogStatus(LogLevel::kWarning, "message_skipped", reason, {{"lsn", message.lsn}});
  metrics_.events_skipped[ToString(CodeOf(reason))].Increment();
}

// Counts a row in its transaction and in the metrics, once it has been handled.
void Pipeline::CountRow() {
  const absl::Status in_order = assembler_.OnRow();
  WR_CHECK(in_order.ok(), "a transaction is open");
  metrics_.events_received->Increment();
}

Position Pipeline::NextPosition() const {
  return {assembler_.open()->commit_lsn, assembler_.open()->rows + 1};
}

absl::StatusOr<Pipeline::Outcome> Pipeline::Offer(const Record& record, Producer& producer) {
  if (step_.Covers(NextPosition())) {
    return OfferAlone(record, producer);
  }
  WR_ASSIGN_OR_RETURN(const Outcome outcome, Hand(record, producer));
  if (outcome == Outcome::kHandled) {
    ++events_in_transaction_;
    CountRow();
  }
  return outcome;
}

// The row is handled only after the brokers have acknowledged or refused its record.
absl::StatusOr<Pipeline::Outcome> Pipeline::OfferAlone(const Record& record, Producer& producer) {
  switch (step_.attempt()) {
    case SingleStep::Attempt::kNone: {
      if (tracker_.records_in_flight() > 0) {
        return Outcome::kAwaitingReport;
      }
      const DeliveryToken token = tracker_.token(NextPosition().ordinal);
      WR_ASSIGN_OR_RETURN(const Outcome outcome, Hand(record, producer));
      if (outcome != Outcome::kHandled) {
        return outcome;
      }
      step_.OnOffered(token);
      return Outcome::kAwaitingReport;
    }
    case SingleStep::Attempt::kInFlight:
      return Outcome::kAwaitingReport;
    case SingleStep::Attempt::kDelivered:
      step_.EndAttempt();
      ++events_in_transaction_;
      CountRow();
      return Outcome::kHandled;
    case SingleStep::Attempt::kRefused:
      break;
  }
  const absl::Status refusal = step_.TakeError();
  if (HasCode(refusal, ErrorCode::kProducerFailed)) {
    return Outcome::kQueueFull;  // not the record's fault: it is offered to the next producer again
  }
  return RowErrorOf(refusal);
}

// Hands a record to the producer. kHandled: the record is in flight.
absl::StatusOr<Pipeline::Outcome> Pipeline::Hand(const Record& record, Producer& producer) {
  const Position position = NextPosition();
  WR_ASSIGN_OR_RETURN(const Produced produced,
                      producer.Produce(record, tracker_.token(position.ordinal)));
  switch (produced) {
    case Produced::kTopicPending:
      return Outcome::kTopicPending;
    case Produced::kQueueFull:
      return Outcome::kQueueFull;
    case Produced::kAccepted:
      break;
  }
  last_offered_ = std::max(last_offered_, position);
  tracker_.OnProduced(record.window_bytes());
  return Outcome::kHandled;
}

absl::StatusOr<Pipeline::Outcome> Pipeline::OnUnroutable(absl::Status reason,
                                                         const pgoutput::Insert& insert,
                                                         Producer& producer) {
  const OnError policy = PolicyFor(CodeOf(reason), config_.on_error).value_or(OnError::kStop);
  if (policy == OnError::kStop) {
    Block(insert.relation_oid, insert.row);
    return reason;
  }
  refusal_ = reason;  // brokers are not offered its record again
  if (!LogHasRoom()) {
    return Outcome::kLogFull;
  }
  const auto outcome =
      policy == OnError::kDeadLetter ? DeadLetter(reason, insert, producer) : Skip(reason, insert);
  if (!outcome.ok() || *outcome == Outcome::kHandled) {
    refusal_ = absl::OkStatus();  // a blocked row is retried from the beginning
  }
  return outcome;
}

Pipeline::Outcome Pipeline::Skip(const absl::Status& reason, const pgoutput::Insert& insert) {
  const std::string code = ToString(CodeOf(reason));
  LogRow("row_skipped", reason, insert, NextPosition());
  metrics_.route_errors[code].Increment();
  metrics_.events_skipped[code].Increment();
  CountRow();
  return Outcome::kHandled;
}

absl::StatusOr<Pipeline::Outcome> Pipeline::DeadLetter(const absl::Status& reason,
                                                       const pgoutput::Insert& insert,
                                                       Producer& producer) {
  const OpenTransaction& transaction = *assembler_.open();
  const Position position = NextPosition();
  const std::string code = ToString(CodeOf(reason));
  const std::string message = MessageOf(reason);
  // The row may be here because it is too large. Half of the record limit for its values leaves
  // room for the rest, and for its key unless the key itself is too large.
  const auto max_bytes = static_cast<size_t>(config_.kafka.max_record_bytes / 2);
  const auto key = router_.KeyOf(insert.relation_oid, insert.row);
  const std::string value =
      EncodeDeadLetter(reason, *relations_.Find(insert.relation_oid), insert.row,
                       {.commit_lsn = transaction.commit_lsn,
                        .ordinal = position.ordinal,
                        .xid = transaction.xid,
                        .commit_time = transaction.commit_time},
                       max_bytes);
  const std::array<Header, 2> headers = {{{"walrelay.code", code}, {"walrelay.reason", message}}};
  const Record record{.topic = config_.on_error.dead_letter_topic,
                      .key = key && key->size() <= max_bytes / 2 ? key : std::nullopt,
                      .value = value,
                      .headers = headers,
                      .partition = std::nullopt,
                      .timestamp = transaction.commit_time};
  const auto outcome = Offer(record, producer);
  if (!outcome.ok()) {
    Block(insert.relation_oid, insert.row);
  } else if (*outcome == Outcome::kHandled) {
    LogRow("dead_letter", reason, insert, position);
    metrics_.route_errors[code].Increment();
    metrics_.dead_letters[code].Increment();
  }
  return outcome;
}

void Pipeline::LogRow(std::string_view event, const absl::Status& reason,
                      const pgoutput::Insert& insert, Position position) {
  const pgoutput::CachedRelation& relation = *relations_.Find(insert.relation_oid);
  LogAudit(event, reason,
           {{"table", fmt::format("{}.{}", relation.schema, relation.name)},
            {"row", router_.Identify(insert.relation_oid, insert.row)},
            {"lsn", position.commit_lsn},
            {"xid", assembler_.open()->xid},
            {"ordinal", position.ordinal}});
}

void Pipeline::Block(uint32_t relation_oid, pgoutput::Tuple row) {
  const pgoutput::CachedRelation& relation = *relations_.Find(relation_oid);
  blocked_row_ = BlockedRow{.table = fmt::format("{}.{}", relation.schema, relation.name),
                            .row = router_.Identify(relation_oid, row),
                            .commit_lsn = assembler_.open()->commit_lsn,
                            .xid = assembler_.open()->xid};
}

absl::Status Pipeline::OnUpdate(const pgoutput::Update& update) {
  if (config_.source.on_update == OnUpdate::kFail && router_.IsOutbox(update.relation_oid) &&
      assembler_.open() != nullptr) {
    Block(update.relation_oid, update.row);
    return Error(ErrorCode::kUpdateRefused, blocked_row_->table);
  }
  return OnNoEvent(update.relation_oid, "update");
}

absl::Status Pipeline::OnNoEvent(uint32_t relation_oid, std::string_view reason) {
  WR_RETURN_IF_ERROR(assembler_.OnRow());
  metrics_.events_skipped[router_.IsOutbox(relation_oid) ? reason : "other_table"].Increment();
  return absl::OkStatus();
}

void Pipeline::OnTruncate(const pgoutput::Truncate& truncate) {
  for (const uint32_t oid : truncate.relation_oids) {
    if (router_.IsOutbox(oid)) {
      metrics_.events_skipped["truncate"].Increment();
      LogWarning("outbox_truncated",
                 "the outbox table was truncated; rows committed before are still published",
                 {{"lsn", assembler_.open() != nullptr ? assembler_.open()->commit_lsn : Lsn()}});
    }
  }
}

}  // namespace walrelay

#include "relay/pipeline.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/log.h"
#include "base/mutant.h"
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
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it by itself

// What the operator chose for rows that fail in this way. nullopt: there is no choice but to stop.
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
    default:
      return std::nullopt;
  }
}

// These concern one row; every other error concerns the session or Kafka.
bool IsAboutTheRow(ErrorCode code) {
  return code >= ErrorCode::kColumnMissing && code <= ErrorCode::kUpdateRefused;
}

}  // namespace

Pipeline::Pipeline(const Config& config, Router router, AckTracker& tracker, Metrics& metrics)
    : config_(config),
      router_(std::move(router)),
      tracker_(tracker),
      metrics_(metrics),
      message_row_(config.format.message_nulls) {}

void Pipeline::StartSession(std::span<const TableFacts> tables) {
  router_.StartSession(tables);
  relations_.Clear();
  message_row_.Forget();
  assembler_ = TransactionAssembler();
  blocked_row_.reset();
  last_commit_time_.reset();
}

absl::StatusOr<Pipeline::Outcome> Pipeline::Handle(const pgoutput::XLogData& data,
                                                   Producer& producer) {
  WR_ASSIGN_OR_RETURN(const pgoutput::Message message, decoder_.Decode(data.payload));
  blocked_row_.reset();
  return Dispatch(message, producer);
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
          [&](const pgoutput::Relation& relation) -> absl::StatusOr<Outcome> {
            router_.OnRelation(relations_.Replace(relation));
            return Outcome::kHandled;
          },
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
          // Rows that came from another node are events like any other.
          [](const pgoutput::Origin&) -> absl::StatusOr<Outcome> { return Outcome::kHandled; },
          [&](const pgoutput::LogicalMessage& logical) { return OnMessage(logical, producer); },
      },
      message);
}

absl::Status Pipeline::OnBegin(const pgoutput::Begin& begin) {
  WR_RETURN_IF_ERROR(assembler_.OnBegin(begin));
  tracker_.Begin(begin.commit_time);
  events_in_transaction_ = 0;
  last_commit_time_ = begin.commit_time;
  return absl::OkStatus();
}

absl::Status Pipeline::OnCommit(const pgoutput::Commit& commit) {
  WR_RETURN_IF_ERROR(assembler_.OnCommit(commit));
  tracker_.Commit(Mutant(MutantId::kConfirmCommitLsn) ? commit.commit_lsn : commit.end_lsn);
  metrics_.transactions[events_in_transaction_ > 0 ? "published" : "empty"].Increment();
  return absl::OkStatus();
}

absl::StatusOr<Pipeline::Outcome> Pipeline::OnInsert(const pgoutput::Insert& insert,
                                                     Producer& producer) {
  if (assembler_.open() == nullptr) {
    return assembler_.OnRow();
  }
  if (relations_.Find(insert.relation_oid) == nullptr) {
    return Error(ErrorCode::kProtocolViolation,
                 fmt::format("a row of table {}, which was never described", insert.relation_oid));
  }
  if (!router_.IsOutbox(insert.relation_oid)) {
    WR_RETURN_IF_ERROR(assembler_.OnRow());
    metrics_.events_skipped["other_table"].Increment();
    return Outcome::kHandled;
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

// What is written between BEGIN and COMMIT by pg_logical_emit_message(true, …) is a row like any
// other, but for its columns, which it brings along.
absl::StatusOr<Pipeline::Outcome> Pipeline::OnMessage(const pgoutput::LogicalMessage& message,
                                                      Producer& producer) {
  const bool is_event = router_.TakesMessages(message.prefix);
  if (!is_event || !message.transactional) {
    if (is_event) {
      return OnLooseMessage(message);
    }
    if (message.transactional) {
      WR_RETURN_IF_ERROR(assembler_.OnRow());
    }
    metrics_.events_skipped["other_message"].Increment();
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

// It belongs to no transaction: it is sent although the one around it may roll back, and there is
// no commit that could be confirmed for it. To publish it could be to tell what never happened.
absl::StatusOr<Pipeline::Outcome> Pipeline::OnLooseMessage(
    const pgoutput::LogicalMessage& message) {
  const absl::Status reason =
      Error(ErrorCode::kValueInvalid, "a message that is not transactional",
            "Write pg_logical_emit_message(true, …). To pass over those that are there: "
            "on_error.value = \"skip\".");
  if (config_.on_error.value != OnError::kSkip) {
    blocked_row_ = BlockedRow{.table = Printable(message.prefix, 63),
                              .row = "a message outside of transactions",
                              .commit_lsn = message.lsn,
                              .xid = 0};
    return reason;
  }
  const std::string code = ToString(CodeOf(reason));
  LogStatus(LogLevel::kWarning, "skipped", reason, {{"lsn", message.lsn}});
  metrics_.route_errors[code].Increment();
  metrics_.events_skipped[code].Increment();
  return Outcome::kHandled;
}

// A row is counted, in its transaction and in the metrics, once it is done with.
void Pipeline::CountRow() {
  const absl::Status in_order = assembler_.OnRow();
  WR_CHECK(in_order.ok(), "a transaction is open");
  metrics_.events_received->Increment();
}

absl::StatusOr<Pipeline::Outcome> Pipeline::Offer(const Record& record, Producer& producer) {
  const bool forgotten =
      Mutant(MutantId::kForgetDeadLetter) && record.topic == config_.on_error.dead_letter_topic;
  WR_ASSIGN_OR_RETURN(const Produced produced,
                      producer.Produce(record, forgotten ? 0 : tracker_.token()));
  const bool dropped =
      (Mutant(MutantId::kSkipWhenTopicPending) && produced == Produced::kTopicPending) ||
      (Mutant(MutantId::kSkipWhenQueueFull) && produced == Produced::kQueueFull);
  if (dropped || (forgotten && produced == Produced::kAccepted)) {
    CountRow();
    return Outcome::kHandled;
  }
  switch (produced) {
    case Produced::kTopicPending:
      return Outcome::kTopicPending;
    case Produced::kQueueFull:
      return Outcome::kQueueFull;
    case Produced::kAccepted:
      break;
  }
  tracker_.OnProduced(record.payload_bytes());
  ++events_in_transaction_;
  CountRow();
  return Outcome::kHandled;
}

absl::StatusOr<Pipeline::Outcome> Pipeline::OnUnroutable(const absl::Status& reason,
                                                         const pgoutput::Insert& insert,
                                                         Producer& producer) {
  const std::string code = ToString(CodeOf(reason));
  OnError policy = PolicyFor(CodeOf(reason), config_.on_error).value_or(OnError::kStop);
  if (Mutant(MutantId::kSkipUnroutable)) {
    policy = OnError::kSkip;
  }
  switch (policy) {
    case OnError::kStop:
      Block(insert.relation_oid, insert.row);
      return reason;
    case OnError::kDeadLetter:
      return DeadLetter(reason, insert, producer);
    case OnError::kSkip:
      break;
  }
  LogStatus(LogLevel::kWarning, "row_skipped", reason,
            {{"row", router_.Identify(insert.relation_oid, insert.row)},
             {"lsn", assembler_.open()->commit_lsn},
             {"xid", assembler_.open()->xid}});
  metrics_.route_errors[code].Increment();
  metrics_.events_skipped[code].Increment();
  CountRow();
  return Outcome::kHandled;
}

absl::StatusOr<Pipeline::Outcome> Pipeline::DeadLetter(const absl::Status& reason,
                                                       const pgoutput::Insert& insert,
                                                       Producer& producer) {
  const OpenTransaction& transaction = *assembler_.open();
  const std::string code = ToString(CodeOf(reason));
  const std::string message = MessageOf(reason);
  // The row may be here because it is too large. Half of a record for its values leaves room for
  // the rest, and for its key if that is not what is too large.
  const auto max_bytes = static_cast<size_t>(config_.kafka.max_record_bytes / 2);
  const auto key = router_.KeyOf(insert.relation_oid, insert.row);
  const std::string value =
      EncodeDeadLetter(reason, *relations_.Find(insert.relation_oid), insert.row,
                       {.commit_lsn = transaction.commit_lsn,
                        .ordinal = transaction.rows + 1,
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
    LogStatus(LogLevel::kWarning, "dead_letter", reason, {{"lsn", transaction.commit_lsn}});
    metrics_.route_errors[code].Increment();
    metrics_.dead_letters[code].Increment();
  }
  return outcome;
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
                 "the outbox table was truncated; rows committed before are published",
                 {{"lsn", assembler_.open() != nullptr ? assembler_.open()->commit_lsn : Lsn()}});
    }
  }
}

}  // namespace walrelay

// Pipeline: what happens to one message of the stream.
//
// Decode, keep the order of transactions, route, produce, account for. It holds what belongs to one
// session (relations, the open transaction) and is told when a new one begins; the tracker and the
// producer outlive sessions and belong to the relay.
//
// A message is either handled whole or not at all: when the producer cannot take a record now,
// nothing has happened and the same message is offered again later. Single-threaded; no I/O of its
// own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "metrics/metrics.h"
#include "pgoutput/copy_data.h"
#include "pgoutput/decoder.h"
#include "pgoutput/relation_cache.h"
#include "route/message_row.h"
#include "route/router.h"
#include "txn/ack_tracker.h"
#include "txn/single_step.h"
#include "txn/transaction_assembler.h"
#include "walrelay/config.h"
#include "walrelay/position.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class Pipeline {
 public:
  // What keeps a message from being handled now.
  enum class Outcome {
    kHandled,
    kTopicPending,    // its topic is being looked up
    kQueueFull,       // the producer takes no more for the moment
    kAwaitingReport,  // its record goes alone, and is in flight or waits for what is
    kLogFull,         // its row is to be left out, and the log takes no line about that
  };

  // A row that must not be skipped: publishing is blocked before it.
  struct BlockedRow {
    std::string table;
    std::string row;  // "id=… key=…"
    Lsn commit_lsn;
    uint32_t xid = 0;
  };

  // All must outlive the pipeline.
  Pipeline(const Config& config, Router router, AckTracker& tracker, Metrics& metrics);

  void StartSession(std::span<const TableFacts> tables);
  // What the open message waits for counts no more: it will come again, or not.
  void EndSession();

  // --- records that brokers refused (see SingleStep) ---

  // The records from `refused` up to the last one that was offered failed with their producer: when
  // they come again, each goes alone.
  void StepThrough(Position refused);
  // Every row before `position` is settled (acknowledged, or left out by on_error): when it comes
  // again it is not sent again. nullopt: nothing is known of rows beyond the frontier.
  void SetSettledBefore(std::optional<Position> position) { settled_before_ = position; }
  // Positions of before mean something else now: another timeline, or another history.
  void ForgetPositions();
  void OnFrontier(Lsn frontier) { step_.OnFrontier(frontier); }
  // A report came. True when it is about a record that was offered alone, and whose row has not
  // been handled yet; a refusal then concerns that row and nothing else.
  bool OnDelivered(DeliveryToken token) { return step_.OnDelivered(token); }
  bool OnRefused(DeliveryToken token, const absl::Status& error);

  // Handles the payload of one XLogData. Errors: WR-2401 ends the session; one whose reaction is
  // kBlocked leaves the message unhandled, and blocked_row() says which row it was, if it was a
  // row's.
  absl::StatusOr<Outcome> Handle(const pgoutput::XLogData& data, Producer& producer);

  const std::optional<BlockedRow>& blocked_row() const { return blocked_row_; }
  bool in_transaction() const { return assembler_.open() != nullptr; }
  // Of the transaction that was begun last: how many of its rows were produced.
  uint64_t events_in_transaction() const { return events_in_transaction_; }
  // Commit time of the transaction that was begun last in this session.
  std::optional<WallTime> last_commit_time() const { return last_commit_time_; }

 private:
  absl::StatusOr<Outcome> Dispatch(const pgoutput::Message& message, Producer& producer);
  absl::Status OnBegin(const pgoutput::Begin& begin);
  absl::Status OnRelation(const pgoutput::Relation& relation);
  absl::Status OnStreamAbort(const pgoutput::StreamAbort& abort);
  absl::Status OnCommit(const pgoutput::Commit& commit);
  absl::StatusOr<Outcome> OnInsert(const pgoutput::Insert& insert, Producer& producer);
  absl::StatusOr<Outcome> OnMessage(const pgoutput::LogicalMessage& message, Producer& producer);
  void OnLooseMessage(const pgoutput::LogicalMessage& message);
  absl::Status OnUpdate(const pgoutput::Update& update);
  absl::Status OnNoEvent(uint32_t relation_oid, std::string_view reason);
  void OnTruncate(const pgoutput::Truncate& truncate);

  absl::StatusOr<Outcome> Offer(const Record& record, Producer& producer);
  absl::StatusOr<Outcome> OfferAlone(const Record& record, Producer& producer);
  absl::StatusOr<Outcome> Hand(const Record& record, Producer& producer);
  Position NextPosition() const;
  // What on_error says of a row that cannot be published. While the outcome is not kHandled the
  // row comes again.
  absl::StatusOr<Outcome> OnUnroutable(absl::Status reason, const pgoutput::Insert& insert,
                                       Producer& producer);
  Outcome Skip(const absl::Status& reason, const pgoutput::Insert& insert);
  absl::StatusOr<Outcome> DeadLetter(const absl::Status& reason, const pgoutput::Insert& insert,
                                     Producer& producer);
  void LogRow(std::string_view event, const absl::Status& reason, const pgoutput::Insert& insert,
              Position position);
  void CountRow();
  void Block(uint32_t relation_oid, pgoutput::Tuple row);

  const Config& config_;
  Router router_;
  AckTracker& tracker_;
  Metrics& metrics_;
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  MessageRow message_row_;
  TransactionAssembler assembler_;
  SingleStep step_;
  absl::Status refusal_;   // why the row that is being handled is to be left out, once known
  Position last_offered_;  // the furthest record that was handed to a producer
  std::optional<Position> settled_before_;
  uint64_t events_in_transaction_ = 0;
  std::optional<BlockedRow> blocked_row_;
  std::optional<WallTime> last_commit_time_;
};

}  // namespace walrelay

// Pipeline: processes one message of the stream.
//
// It decodes the message, checks the order of transactions, routes, produces, and accounts for the
// result. It holds the state of one session (relations, the open transaction) and StartSession()
// resets it; the tracker and the producer outlive sessions and belong to the relay.
//
// A message is handled completely or not at all: when the producer cannot accept a record now, the
// state is unchanged and the same message is offered again later. Single-threaded; does no I/O
// itself.
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
#include "stream/ack_tracker.h"
#include "stream/single_step.h"
#include "stream/transaction_assembler.h"
#include "walrelay/config.h"
#include "walrelay/position.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class Pipeline {
 public:
  // The result for a message: handled, or the reason why it cannot be handled now.
  enum class Outcome {
    kHandled,
    kTopicPending,    // the metadata of its topic is being fetched
    kQueueFull,       // the producer's queue is full for the moment
    kAwaitingReport,  // its record is sent alone, and is in flight or waits for records in flight
    kLogFull,         // its row is to be skipped, and the log has no room for the audit line
  };

  // A row that must not be skipped: it blocks publishing.
  struct BlockedRow {
    std::string table;
    std::string row;  // "id=… key=…"
    Lsn commit_lsn;
    uint32_t xid = 0;
  };

  // All arguments must outlive the pipeline.
  Pipeline(const Config& config, Router router, AckTracker& tracker, Metrics& metrics);

  void StartSession(std::span<const TableFacts> tables);
  // Discards the state of a pending message: the next session receives it again, or not at all.
  void EndSession();

  // --- records that brokers refused (see SingleStep) ---

  // The records from `refused` up to the last one offered failed with their producer: when they are
  // received again, each is sent alone.
  void StepThrough(Position refused);
  // Every row before `position` is settled (acknowledged, or skipped by on_error): when received
  // again, it is not sent again. nullopt: the state of rows after the frontier is unknown.
  void SetSettledBefore(std::optional<Position> position) { settled_before_ = position; }
  // Earlier positions are no longer valid: another timeline, or another history.
  void ForgetPositions();
  void OnFrontier(Lsn frontier) { step_.OnFrontier(frontier); }
  // Processes a delivery report. True when it concerns a record that was offered alone and whose
  // row has not been handled yet; a refusal then concerns only that row.
  bool OnDelivered(DeliveryToken token) { return step_.OnDelivered(token); }
  bool OnRefused(DeliveryToken token, const absl::Status& error);

  // Handles the payload of one XLogData. Errors: WR-2401 ends the session; an error whose reaction
  // is kBlocked leaves the message unhandled, and blocked_row() names the row, if it concerns one.
  absl::StatusOr<Outcome> Handle(const pgoutput::XLogData& data, Producer& producer);

  const std::optional<BlockedRow>& blocked_row() const { return blocked_row_; }
  bool in_transaction() const { return assembler_.open() != nullptr; }
  // Number of produced rows of the most recently begun transaction.
  uint64_t events_in_transaction() const { return events_in_transaction_; }
  // Commit time of the most recently begun transaction of this session.
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
  // Applies on_error to a row that cannot be published. Unless the outcome is kHandled, the row is
  // offered again.
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
  absl::Status refusal_;   // why the current row is to be skipped, once known
  Position last_offered_;  // the furthest record handed to a producer
  std::optional<Position> settled_before_;
  uint64_t events_in_transaction_ = 0;
  std::optional<BlockedRow> blocked_row_;
  std::optional<WallTime> last_commit_time_;
};

}  // namespace walrelay

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
#include "txn/transaction_assembler.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class Pipeline {
 public:
  // What keeps a message from being handled now.
  enum class Outcome {
    kHandled,
    kTopicPending,  // its topic is being looked up
    kQueueFull,     // the producer takes no more for the moment
  };

  // A row that must not be passed over: the line stands before it.
  struct BlockedRow {
    std::string table;
    std::string row;  // "id=… key=…"
    Lsn commit_lsn;
    uint32_t xid = 0;
  };

  // All must outlive the pipeline.
  Pipeline(const Config& config, Router router, AckTracker& tracker, Metrics& metrics);

  void StartSession(std::span<const TableFacts> tables);

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
  absl::Status OnCommit(const pgoutput::Commit& commit);
  absl::StatusOr<Outcome> OnInsert(const pgoutput::Insert& insert, Producer& producer);
  absl::StatusOr<Outcome> OnMessage(const pgoutput::LogicalMessage& message, Producer& producer);
  absl::StatusOr<Outcome> OnLooseMessage(const pgoutput::LogicalMessage& message);
  absl::Status OnUpdate(const pgoutput::Update& update);
  absl::Status OnNoEvent(uint32_t relation_oid, std::string_view reason);
  void OnTruncate(const pgoutput::Truncate& truncate);

  absl::StatusOr<Outcome> Offer(const Record& record, Producer& producer);
  absl::StatusOr<Outcome> OnUnroutable(const absl::Status& reason, const pgoutput::Insert& insert,
                                       Producer& producer);
  absl::StatusOr<Outcome> DeadLetter(const absl::Status& reason, const pgoutput::Insert& insert,
                                     Producer& producer);
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
  uint64_t events_in_transaction_ = 0;
  std::optional<BlockedRow> blocked_row_;
  std::optional<WallTime> last_commit_time_;
};

}  // namespace walrelay

// Pipeline: processes one message of the stream.
//
// It decodes the message, checks the order of transactions, routes, and passes the record to the
// sender; it applies on_error to rows that cannot be published. It holds the state of one session
// (relations, the open transaction), which StartSession() resets; the tracker and the sender
// outlive sessions and belong to the relay.
//
// A message is handled completely or not at all: when the sink cannot accept a record now, the
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
#include "publish/record_sender.h"
#include "publish/row_step.h"
#include "route/message_row.h"
#include "route/router.h"
#include "stream/ack_tracker.h"
#include "stream/history_check.h"
#include "stream/start_position.h"
#include "stream/transaction_order_check.h"
#include "walrelay/config/source.h"
#include "walrelay/position.h"
#include "walrelay/progress.h"
#include "walrelay/published_transaction.h"
#include "walrelay/replication_source.h"
#include "walrelay/wait.h"

namespace walrelay {

struct Config;

// The order of the steps is fixed: a message changes no state before everything that may reject it
// has been asked.
class Pipeline final : private RowAudit {
 public:
  // A row that must not be skipped: it blocks publishing. A copy for operators, which outlives the
  // message; it never contains the payload.
  struct BlockedRow {
    std::string table;
    std::string row;  // "id=… key=…"
    Lsn commit_lsn;
    uint32_t xid = 0;
  };

  // All references must outlive the pipeline, and `config` must not change. StartSession() must
  // precede the first Handle().
  Pipeline(const Config& config, Router router, AckTracker& tracker, RecordSender& sender,
           Metrics& metrics);

  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Begins a session on `tables`, as the catalog describes them now; they are copied. REQUIRES: the
  // previous session has ended (EndSession()), and no transaction of the tracker is open.
  // `known_at`: a position that the WAL had reached when they were read; not valid: they are not
  // compared. `history`: what the stream must contain. `partial`: of which the first rows were
  // published before the session.
  void StartSession(std::span<const TableInfo> tables, Lsn known_at = {},
                    const HistoryCheck& history = {}, const PublishedTransaction& partial = {});
  // Discards the state of a pending message: the next session receives it again, or not at all.
  // Rows of the open transaction that were handled are not sent again. The open transaction of the
  // tracker is not touched: the caller abandons it. Allowed at any time.
  void EndSession();

  // Handles the payload of one XLogData, which must stay valid during the call only. An error whose
  // reaction is kBlocked leaves the message unhandled, and blocked_row() names the row, if it
  // concerns one. Every other error ends the session: WR-2401 for a message that is invalid or out
  // of order, WR-2005 for too many tables, and for
  // a table whose columns have changed since the session began, and those of a failed sink.
  // Until the message is handled (kNone), the caller must offer it again, or end the session.
  // REQUIRES: a session has begun; only the pipeline begins and commits transactions of the
  // tracker.
  absl::StatusOr<Wait> Handle(const pgoutput::XLogData& data);
  // The server has decoded the WAL before `wal_end`. Errors: WR-2204.
  absl::Status OnKeepalive(Lsn wal_end);

  // Announces the topic of a row that will be handled later, so that it does not wait for a topic
  // of its own (Sink::Announce). False if messages behind this one cannot be understood before
  // it has been handled, or if its topic has to be announced again.
  // Changes no state, except that the topic counts towards route.max_topics. Logical messages are
  // not looked at: their columns differ from message to message.
  bool LookAhead(const pgoutput::XLogData& data);
  // LookAhead() continues with the message behind the one that is being handled.
  void BeginLookAhead() { looks_at_origin_ = of_origin_; }

  // Whether the stream has contained what it must.
  bool history_known() const { return history_.complete(); }
  // Whether events of this transaction were handled before, or will not be sent.
  bool IsSettled(const pgoutput::Begin& begin) const {
    return sender_.IsSettled({begin.final_lsn, Lsn(), 0});
  }
  // The row that blocked last; nullopt once a message was handled, and in a new session.
  const std::optional<BlockedRow>& blocked_row() const { return blocked_row_; }
  // Whether BEGIN was handled and COMMIT was not; as in the tracker, while a session runs.
  bool in_transaction() const { return transactions_.open() != nullptr; }
  // The number of its rows that were handled; 0 without one.
  uint64_t rows_in_transaction() const { return in_transaction() ? transactions_.open()->rows : 0; }
  // The transaction of which the first rows are published or in flight, and whose COMMIT was not
  // handled yet. Not valid if there is none.
  PartialTransaction partial() const;
  // The same transaction, for the next stream to continue with. REQUIRES: no session.
  UnfinishedTransaction unfinished() const;
  // The sink has failed, and rows of a transaction in flight are settled. REQUIRES: the tracker
  // has not forgotten what was in flight.
  void OnRestarting();
  // Number of produced rows of the most recently begun transaction. A dead letter counts; a row
  // that was skipped, or settled in an earlier attempt, does not.
  uint64_t events_in_transaction() const { return events_in_transaction_; }
  // Commit time of the most recently begun transaction of this session.
  std::optional<WallTime> last_commit_time() const { return last_commit_time_; }

 private:
  // One call for each kind of message. An error leaves the open transaction as it was.
  absl::StatusOr<Wait> Dispatch(const pgoutput::Message& message);
  absl::Status OnBegin(const pgoutput::Begin& begin);
  absl::Status OnRelation(const pgoutput::Relation& relation);
  // Whether the open transaction was committed after the catalog was read.
  bool IsNewerThanCatalog() const;
  // WR-2005, for the session to end, if the catalog has to be read again.
  absl::Status CheckKnown(const pgoutput::CachedRelation& relation) const;
  absl::Status CheckLabels(const pgoutput::Insert& insert) const;
  absl::Status OnStreamAbort(const pgoutput::StreamAbort& abort);
  absl::Status OnCommit(const pgoutput::Commit& commit);
  absl::StatusOr<Wait> OnInsert(const pgoutput::Insert& insert);
  absl::StatusOr<Wait> OnMessage(const pgoutput::LogicalMessage& message);
  // A message outside of every transaction: logged and counted, never published.
  void OnLooseMessage(const pgoutput::LogicalMessage& message);
  absl::Status OnOrigin();
  // A row or a message of a transaction that is not an event.
  absl::StatusOr<Wait> PassRowOfOrigin();
  absl::Status OnUpdate(const pgoutput::Update& update);
  // Counts a row that is not an event: every row has a position.
  absl::Status OnNoEvent(uint32_t relation_oid, std::string_view reason);
  void OnTruncate(const pgoutput::Truncate& truncate);

  // Publishes a row of the open transaction, or gives it up for `reason` if that is not OK. Unless
  // the result is kNone, the row is offered again.
  absl::StatusOr<Wait> PublishRow(const pgoutput::Insert& insert, const absl::Status& reason);
  // Hands a record to the sender at the next position; counts the row when that is done.
  absl::StatusOr<Offered> Send(const Record& record);
  // The position of the row that is being handled. REQUIRES: a transaction is open.
  Position CurrentPosition() const;
  // The position behind the rows that were handled. REQUIRES: a transaction is open.
  Position NextPosition() const;
  // The log has room for the line about a row: the line is the only trace of the row.
  bool HasRoom() override;
  // Logs the row; one that is skipped is handled with that.
  void OnGivenUp(const GivenUpRow& given_up) override;
  // Whether the row that is being handled was settled in an earlier session or attempt; counts it
  // then. WR-2204 if it cannot have been.
  absl::StatusOr<bool> PassSettledRow();
  // Notes a handled row in the transaction's order and in the metrics. REQUIRES: a transaction is
  // open. Call it once for each row: the next row of the same WAL record has the next index then.
  void CountRow();
  // Remembers the row for display; its views end with the message.
  void Block(uint32_t relation_oid, pgoutput::Tuple row);

  const Config& config_;
  Router router_;
  AckTracker& tracker_;
  RecordSender& sender_;
  Metrics& metrics_;
  // They belong to this session: the server describes its tables again in the next one.
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  MessageRow message_row_;
  TransactionOrderCheck transactions_;
  HistoryCheck history_;
  Lsn known_at_;
  bool of_origin_ = false;        // the open transaction has no events: source.origin
  bool looks_at_origin_ = false;  // the same, for the message that is looked at
  PublishedTransaction cut_;      // the last one whose rows an earlier session has handled in part
  Lsn message_at_;                // the position of the message that was offered last
  RowStep step_;
  RowState row_;  // of the row that is being handled
  uint64_t events_in_transaction_ = 0;
  std::optional<BlockedRow> blocked_row_;
  std::optional<WallTime> last_commit_time_;
};

}  // namespace walrelay

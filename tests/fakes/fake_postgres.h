// A fake Postgres with one outbox table, as a replication client sees it.
//
// Keeps a WAL of committed transactions and a slot, and follows the server's rules for both: a
// transaction is sent when its commit LSN is not below the larger of the requested and the
// confirmed position; the confirmed position only moves forward; messages are sent in commit order,
// each transaction completely. The test injects failures.
//
// Source: src/backend/replication/logical/snapbuild.c, SnapBuildXactNeedsSkip; logical.c,
// LogicalConfirmReceivedLocation.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "fakes/pgoutput_writer.h"
#include "walrelay/clock.h"
#include "walrelay/error.h"
#include "walrelay/replication_source.h"

namespace walrelay::testing {

constexpr uint32_t kOutboxOid = 16385;
constexpr int kOurPid = 100;

// One event of the outbox, or a row of another table.
struct FakeRow {
  std::optional<std::string> type = "order";
  std::optional<std::string> key;
  std::optional<std::string> payload;
  bool outbox = true;
  bool continues = false;  // it is of the same WAL record as the row before
};

class FakePostgres final : public ReplicationSource {
 public:
  explicit FakePostgres(const Clock& clock) : clock_(clock) {
    info.server = {.system_id = "7301",
                   .timeline = 1,
                   .wal_end = Lsn(1000),
                   .database = "shop",
                   .version = 150018,
                   .backend_pid = kOurPid,
                   .wal_sender_timeout = std::chrono::seconds(30)};
    info.slot =
        SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(1000)};
    info.publication = {.exists = true, .publishes_insert = true};
    info.tables = {{.schema = "public", .name = "outbox", .oid = kOutboxOid, .published = true}};
    PublicationIdentity& identity = info.publication_state.identity;
    identity = {.oid = 16400, .xmin = 700};
    identity.tables = {{.name = "public.outbox", .oid = kOutboxOid, .memberships = {{16401, 700}}}};
  }

  // --- actions of the test ---

  // Commits a transaction; returns its end.
  Lsn Commit(std::vector<FakeRow> rows) {
    const Lsn commit = info.server.wal_end;
    info.server.wal_end = Lsn(commit.value() + 48);
    log_.push_back(
        {commit, info.server.wal_end, clock_.WallNow(), xid, std::move(rows), std::nullopt});
    if (streaming()) {
      Send(log_.back());
    }
    return info.server.wal_end;
  }
  // The server is restored to its state at `position`.
  void Rewind(Lsn position) {
    std::erase_if(log_, [&](const Transaction& each) { return each.commit >= position; });
    info.server.wal_end = position;
  }
  // Other databases and tables write; the server reports how far it has decoded.
  Lsn OtherTraffic() {
    info.server.wal_end = Lsn(info.server.wal_end.value() + 1000);
    Keepalive(info.server.wal_end, false);
    return info.server.wal_end;
  }
  void Keepalive(Lsn wal_end, bool reply_requested) {
    Put(KeepaliveMessage(wal_end, reply_requested, clock_.WallNow()));
  }
  // Sends any bytes as the payload of an XLogData message.
  void SendRaw(const std::string& message, Lsn start = {}) {
    Put(XLogDataMessage(message, clock_.WallNow(), start));
  }
  // Sends the BEGIN and the first rows of a transaction, but not the rest.
  void SendOpenTransaction(const std::vector<FakeRow>& rows) {
    Describe();
    SendRaw(BeginMessage(info.server.wal_end, clock_.WallNow(), xid));
    SendRows(rows);
  }
  void BreakConnection(absl::Status error = Error(ErrorCode::kConnectionLost, "cut")) {
    broken_ = std::move(error);
  }

  // The connection is cut after `messages` more messages have arrived.
  void CutAfter(size_t messages) {
    socket_.resize(std::min(socket_.size(), messages));
    BreakConnection();
  }

  // From now on the server cannot send the transaction that ends at `end` beyond its first `rows`
  // rows: each stream fails there.
  void MakeUndecodable(Lsn end, size_t rows) {
    for (Transaction& transaction : log_) {
      if (transaction.end == end) {
        transaction.decodable = rows;
      }
    }
  }

  void MakeDecodable() {
    for (Transaction& transaction : log_) {
      transaction.decodable.reset();
    }
  }

  // --- state that the test reads and changes ---

  SourceInfo info;
  absl::Status open_error;
  absl::Status start_error;  // of the next START_REPLICATION
  // Called once, by START_REPLICATION, before it acquires the slot.
  std::function<void()> before_start;
  std::function<void()> on_inspect;  // called before the slot is read again
  absl::Status inspect_error;        // of InspectSlot()
  std::function<void()> after_create_slot;
  absl::Status drop_error;   // the slot is dropped, but DropSlot() returns this
  Micros sender_timeout{0};  // last value requested by the relay
  size_t opens = 0;
  size_t drops = 0;
  std::vector<Lsn> starts;             // positions of START_REPLICATION
  std::vector<StandbyStatus> updates;  // received
  std::vector<int> terminated;         // backends terminated by the relay
  bool trickle = false;                // part of a message has arrived
  std::function<void()> at_next_read;  // called within Receive()
  bool finished_in_order = false;      // the stream was ended with CopyDone
  bool answers_pings = false;          // replies to status updates, as an idle server does
  bool unsent = false;                 // part of a status update waits for the socket
  uint32_t xid = 7;                    // of the next transactions
  bool sends_other_tables = true;      // they are in the publication
  bool streaming() const { return streaming_; }
  Lsn confirmed() const { return info.slot->confirmed_flush_lsn; }

  // --- ReplicationSource ---

  void SetSenderTimeout(Micros timeout) override { sender_timeout = timeout; }
  absl::StatusOr<SourceInfo> Open() override {
    Close();
    ++opens;
    if (!open_error.ok()) {
      return open_error;
    }
    open_ = true;
    info.publication_state.before = info.publication_state.after = info.server.wal_end;
    return info;
  }
  absl::StatusOr<std::optional<SlotInfo>> InspectSlot() override {
    if (on_inspect) {
      on_inspect();
    }
    if (!inspect_error.ok()) {
      return inspect_error;
    }
    return info.slot;
  }
  absl::Status TerminateBackend(int pid) override {
    terminated.push_back(pid);
    info.slot->active = false;
    return absl::OkStatus();
  }
  absl::Status CreateSlot() override {
    info.slot = SlotInfo{
        .plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = info.server.wal_end};
    if (after_create_slot) {
      after_create_slot();
    }
    return absl::OkStatus();
  }
  absl::Status DropSlot() override {
    ++drops;
    if (info.slot->active) {
      return Error(ErrorCode::kSlotBusy, "active");
    }
    info.slot.reset();
    return std::exchange(drop_error, absl::OkStatus());
  }
  absl::StatusOr<std::optional<Lsn>> Start(Lsn position) override {
    WR_CHECK(open_, "a stream needs an open connection");
    if (!start_error.ok()) {
      return std::exchange(start_error, absl::OkStatus());
    }
    if (before_start) {
      std::exchange(before_start, nullptr)();
    }
    starts.push_back(position);
    streaming_ = true;
    described_ = false;
    const Lsn from = std::max(position, confirmed());
    for (const Transaction& transaction : log_) {
      if (transaction.commit >= from) {
        Send(transaction);
      }
    }
    return info.slot->confirmed_flush_lsn;
  }
  absl::StatusOr<bool> Receive(size_t max_bytes) override {
    if (at_next_read) {
      std::exchange(at_next_read, nullptr)();
    }
    const bool any = !socket_.empty() || std::exchange(trickle, false);
    size_t bytes = 0;
    for (const std::string_view message : views_) {
      bytes += message.size();
    }
    while (!socket_.empty() && bytes < max_bytes) {
      bytes += socket_.front().size();
      pending_.push_back(std::move(socket_.front()));
      socket_.pop_front();
      views_.emplace_back(pending_.back());
    }
    full_ = bytes >= max_bytes;
    if (views_.empty() && !broken_.ok()) {
      return broken_;
    }
    return any;
  }
  bool more_has_arrived() const override { return full_; }
  std::span<const std::string_view> pending() const override { return views_; }
  void Consume(size_t count) override {
    views_.erase(views_.begin(), views_.begin() + static_cast<std::ptrdiff_t>(count));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  absl::Status SendStatus(const StandbyStatus& status) override {
    updates.push_back(status);
    info.slot->confirmed_flush_lsn = std::max(confirmed(), status.flushed);
    if (status.reply_requested && answers_pings) {
      Keepalive(info.server.wal_end, false);
    }
    return absl::OkStatus();
  }
  absl::Status Flush() override {
    unsent = false;
    return absl::OkStatus();
  }
  absl::Status Finish(Micros) override {
    finished_in_order = true;
    return absl::OkStatus();
  }
  void Close() override {
    open_ = false;
    streaming_ = false;
    full_ = false;
    broken_ = absl::OkStatus();
    socket_.clear();
    pending_.clear();
    views_.clear();
  }
  int poll_fd() const override { return -1; }
  bool wants_write() const override { return unsent; }

 private:
  struct Transaction {
    Lsn commit;
    Lsn end;
    WallTime time;
    uint32_t xid = 0;
    std::vector<FakeRow> rows;
    std::optional<size_t> decodable;  // rows; nullopt: all
  };

  void Put(std::string message) {
    if (streaming_ && broken_.ok()) {
      socket_.push_back(std::move(message));
    }
  }
  // The server describes a table before its first row in a session.
  void Describe() {
    if (!std::exchange(described_, true)) {
      const std::vector<ColumnSpec> columns = {
          {"id", 25, true}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}};
      SendRaw(RelationMessage(kOutboxOid, "public", "outbox", columns));
      SendRaw(RelationMessage(kOutboxOid + 1, "public", "customers", columns));
    }
  }
  void SendRows(const std::vector<FakeRow>& rows) {
    uint64_t position = 99;
    for (const FakeRow& row : rows) {
      position += row.continues ? 0 : 1;
      const Lsn start(position);
      const uint32_t oid = row.outbox ? kOutboxOid : kOutboxOid + 1;
      if (row.outbox || sends_other_tables) {
        SendRaw(InsertMessage(oid, TextRow({row.key, row.type, row.key, row.payload})), start);
      }
    }
  }
  void Send(const Transaction& transaction) {
    Describe();
    SendRaw(BeginMessage(transaction.commit, transaction.time, transaction.xid));
    if (transaction.decodable) {
      const auto end =
          transaction.rows.begin() + static_cast<std::ptrdiff_t>(*transaction.decodable);
      SendRows({transaction.rows.begin(), end});
      return BreakConnection(Error(ErrorCode::kPostgresError, "cannot be converted"));
    }
    SendRows(transaction.rows);
    SendRaw(CommitMessage(transaction.commit, transaction.end, transaction.time));
  }

  const Clock& clock_;
  std::vector<Transaction> log_;
  bool open_ = false;
  bool streaming_ = false;
  bool described_ = false;
  bool full_ = false;  // the last Receive() stopped at its limit
  absl::Status broken_;
  std::deque<std::string> socket_;
  std::deque<std::string> pending_;  // a deque: views stay valid as it grows
  std::vector<std::string_view> views_;
};

}  // namespace walrelay::testing

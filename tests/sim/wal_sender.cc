#include "wal_sender.h"

#include <utility>

#include "outbox.h"
#include "sim_postgres.h"
#include "walrelay/error.h"
#include "wire.h"

namespace walrelay::sim {
namespace {

std::string XLogData(Lsn start, WallTime now, std::string_view payload) {
  return testing::ByteWriter().Put('w').Put(start).Put(start).Put(now).PutBytes(payload).Take();
}

}  // namespace

WalSender::WalSender(SimPostgres& server, Context& context, std::shared_ptr<Link> link, int pid,
                     Lsn start)
    : server_(server),
      context_(context),
      link_(std::move(link)),
      pid_(pid),
      start_(start),
      sent_(start),
      last_reply_(context.now()) {
  const auto& log = server.log().transactions();
  while (next_transaction_ < log.size() && log[next_transaction_].commit_lsn < start) {
    earlier_aborts_ += log[next_transaction_].aborted ? 1U : 0U;
    ++next_transaction_;
  }
}

void WalSender::Pump() {
  if (farewell_) {
    if (alive_ && link_->HasRoom()) {
      End(*farewell_);
    }
    return;
  }
  while (alive_ && link_->HasRoom() && SendNext()) {
  }
  if (!alive_) {
    return;
  }
  const auto& log = server_.log().transactions();
  const bool caught_up = !begun_ && (next_transaction_ >= log.size() ||
                                     log[next_transaction_].end_lsn > server_.sendable_end());
  if (caught_up) {
    sent_ = std::max(sent_, server_.sendable_end());
    if (stopping_) {
      CheckDone();
    } else if (write_ < sent_ && flush_ < sent_ && !waiting_for_reply_ && link_->HasRoom() &&
               (replied_ || reported_ < sent_)) {
      SendKeepalive(false);
      replied_ = false;
      reported_ = sent_;
    }
  }
  ArmTimer();
}

// Sends one message, or skips a transaction that has none. False: there is nothing to send now.
bool WalSender::SendNext() {
  if (earlier_aborts_ > 0) {
    --earlier_aborts_;
    SendAbort({});
    return true;
  }
  const auto& log = server_.log().transactions();
  if (next_transaction_ >= log.size() || log[next_transaction_].end_lsn > server_.sendable_end()) {
    return false;
  }
  const LogTransaction& transaction = log[next_transaction_];
  if (!begun_) {
    sent_ = std::max(sent_, transaction.commit_lsn);
    if (transaction.aborted) {
      SendAbort(transaction);
      sent_ = transaction.end_lsn;
      ++next_transaction_;
      return true;
    }
    if (server_.IsPoisoned(transaction)) {
      End(Error(ErrorCode::kPostgresError, "could not write to file: No space left on device"));
      return false;
    }
    if (transaction.sends_nothing() || server_.SkipsPublication(*link_)) {
      sent_ = transaction.end_lsn;
      ++next_transaction_;
      return true;
    }
    begun_ = true;
    next_row_ = 0;
    sends_other_rows_ = server_.SendsOtherRows(transaction, start_);
    if (!sends_other_rows_) {
      context_.coverage.Count("a transaction is sent without the rows of a table");
    }
    asked_ = false;
    SendData(transaction.rows.front().lsn,
             testing::BeginMessage(transaction.commit_lsn, transaction.time,
                                   static_cast<uint32_t>(transaction.xid)));
    if (transaction.of_origin) {
      context_.coverage.Count("server sends a replication origin");
      SendData(Lsn(), testing::OriginMessage(Lsn(1), "elsewhere"));
    }
  } else if (next_row_ < transaction.rows.size()) {
    SendRow(transaction, transaction.rows[next_row_++]);
  } else {
    SendData(transaction.end_lsn,
             testing::CommitMessage(transaction.commit_lsn, transaction.end_lsn, transaction.time));
    sent_ = transaction.end_lsn;
    begun_ = false;
    ++next_transaction_;
  }
  return true;
}

void WalSender::SendAbort(const LogTransaction& transaction) {
  context_.coverage.Count("server sends a Stream Abort");
  SendData(transaction.commit_lsn,
           testing::StreamAbortMessage(600, static_cast<uint32_t>(transaction.xid)));
}

void WalSender::SendRow(const LogTransaction& transaction, const LogRow& row) {
  if (row.hidden || (row.oid == kOtherOid && !sends_other_rows_)) {
    return;
  }
  if (row.kind != LogRow::Kind::kTruncate && row.kind != LogRow::Kind::kMessage) {
    const bool outbox = row.oid == kOutboxOid;
    if (outbox ? std::exchange(outbox_schema_, row.schema) != row.schema
               : described_.emplace(row.oid, 0).second) {
      SendData(Lsn(), DescribeTable(row.oid, row.schema));
    }
  }
  const testing::Row values = row.event >= 0
                                  ? RowOf(row.event, context_.oracle.event(row.event), row.schema)
                                  : testing::TextRow({"1"});
  switch (row.kind) {
    case LogRow::Kind::kInsert:
      SendData(row.lsn, testing::InsertMessage(row.oid, values));
      break;
    case LogRow::Kind::kUpdate:
      SendData(row.lsn, testing::UpdateMessage(row.oid, values));
      break;
    case LogRow::Kind::kDelete:
      SendData(row.lsn, testing::DeleteMessage(row.oid, values));
      break;
    case LogRow::Kind::kTruncate:
      SendData(row.lsn, testing::TruncateMessage({row.oid}));
      break;
    case LogRow::Kind::kMessage:
      context_.coverage.Count("server sends an event as a message");
      SendData(row.lsn,
               testing::LogicalMessage(true, row.lsn, kMessagePrefix,
                                       ContentOf(row.event, context_.oracle.event(row.event))));
      break;
  }
  if (transaction.rows.size() > 20 && context_.random.Chance(4)) {
    // A server requests a reply once per half of its timeout, not with every keepalive.
    SendKeepalive(!std::exchange(asked_, true));
  }
}

void WalSender::SendData(Lsn start, std::string payload) {
  if (server_.TakeCorruption()) {
    context_.coverage.Count("server sends a corrupted message");
    context_.Note("[pg] a message is corrupted");
    payload[0] = kGarbledType;
    link_->NoteGarbled();
  }
  link_->Send(context_.now(), XLogData(start, context_.clock.WallNow(), payload));
}

void WalSender::SendKeepalive(bool reply_requested) {
  waiting_for_reply_ = waiting_for_reply_ || reply_requested;
  link_->Send(context_.now(),
              testing::KeepaliveMessage(sent_, reply_requested, context_.clock.WallNow()));
}

void WalSender::OnRoom() {
  std::weak_ptr<WalSender> self = weak_from_this();
  context_.After(Micros(100), [self] {
    if (const auto sender = self.lock()) {
      sender->Pump();
    }
  });
}

void WalSender::OnStatus(const StandbyStatus& status) {
  if (!alive_ || farewell_ || link_->cut()) {
    return;
  }
  last_reply_ = context_.now();
  waiting_for_reply_ = false;
  replied_ = true;
  write_ = status.received;
  flush_ = status.flushed;
  if (status.flushed.valid()) {
    server_.Confirm(status.flushed);
  }
  if (status.reply_requested) {
    SendKeepalive(false);
  }
  Pump();
}

bool WalSender::OnCopyDone() {
  const bool read = alive_ && !link_->cut();
  End(Error(ErrorCode::kConnectionLost, "the server ended the stream"));
  return read;
}

void WalSender::Stop() {
  stopping_ = true;
  Pump();
}

// WalSndDone: ends only when the client has read and confirmed exactly what was sent.
void WalSender::CheckDone() {
  const Lsn confirmed = flush_.valid() ? flush_ : write_;
  if (confirmed == sent_ && link_->HasRoom()) {
    End(Error(ErrorCode::kConnectionLost, "the server ended the stream"));
  } else if (!waiting_for_reply_) {
    SendKeepalive(true);
  }
}

void WalSender::ArmTimer() {
  if (!alive_ || timer_armed_ || server_.wal_sender_timeout().count() == 0) {
    return;
  }
  timer_armed_ = true;
  const Micros half = server_.wal_sender_timeout() / 2;
  const MonoTime due =
      context_.now() < last_reply_ + half ? last_reply_ + half : last_reply_ + 2 * half;
  std::weak_ptr<WalSender> self = weak_from_this();
  context_.event_queue.At(std::max(due, context_.now() + Micros(1000)), [self] {
    if (const auto sender = self.lock()) {
      sender->OnTimer();
    }
  });
}

void WalSender::OnTimer() {
  timer_armed_ = false;
  if (!alive_ || farewell_) {
    return;
  }
  const Micros silence = context_.now() - last_reply_;
  if (silence >= server_.wal_sender_timeout() - Micros(1)) {
    if (client_awake_since_ <= last_reply_ && !link_->disturbed_since(last_reply_)) {
      context_.oracle.Fail("I11 liveness",
                           "a relay let wal_sender_timeout expire although neither it nor its "
                           "connection was disturbed");
    }
    context_.coverage.Count("server disconnects a silent client");
    context_.Note("[pg] walsender {} disconnects a silent client", pid_);
    End(Error(ErrorCode::kConnectionLost, "the server closed the connection"));
    return;
  }
  if (silence >= server_.wal_sender_timeout() / 2 && !waiting_for_reply_) {
    SendKeepalive(true);
  }
  ArmTimer();
}

void WalSender::End(const absl::Status& reason) {
  if (alive_) {
    link_->End(context_.now(), reason);
    Leave();
  }
}

void WalSender::EndWithFarewell(const absl::Status& reason) {
  farewell_ = reason;
  Pump();
}

void WalSender::Leave() {
  if (std::exchange(alive_, false)) {
    server_.OnSenderGone(*this);
  }
}

}  // namespace walrelay::sim

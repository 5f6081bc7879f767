// WalSender: the server's end of one replication connection.
//
// Sends each transaction whose commit record is not before the start, in commit order. Sends a
// keepalive each time it reaches the end of the WAL and the client lags. Sends one that requests a
// reply after half of wal_sender_timeout without a message from the client, and disconnects after
// all of it. While the server shuts down, it ends only when the client has confirmed exactly what
// was sent.
//
// Source: Postgres, src/backend/replication/walsender.c: XLogSendLogical, WalSndWaitForWal,
// WalSndKeepaliveIfNecessary, WalSndCheckTimeOut, WalSndDone, ProcessPendingWrites.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "context.h"
#include "link.h"
#include "pg_log.h"
#include "walrelay/replication_source.h"

namespace walrelay::sim {

class SimPostgres;

class WalSender : public std::enable_shared_from_this<WalSender> {
 public:
  WalSender(SimPostgres& server, Context& context, std::shared_ptr<Link> link, int pid, Lsn start);

  // Sends as much pending data as the socket accepts.
  void Pump();
  // The client has read: the link may have room again.
  void OnRoom();
  // A status update from the client arrives.
  void OnStatus(const StandbyStatus& status);
  // CopyDone arrives. True: it was read, and so was everything before it.
  bool OnCopyDone();
  void OnClientGone() { Leave(); }

  // Ends the connection; the client sees `reason` if it receives anything.
  void End(const absl::Status& reason);
  // Like End(), for a backend that is asked to terminate: it sends `reason` first, and waits until
  // there is room for it.
  void EndWithFarewell(const absl::Status& reason);
  // The server shuts down: the walsender ends when the client has everything.
  void Stop();

  Link& link() { return *link_; }
  int pid() const { return pid_; }
  bool alive() const { return alive_; }
  // The client's process has been running since `time`; its silence before that is not a violation.
  void SetClientAwakeSince(MonoTime time) { client_awake_since_ = time; }

 private:
  bool SendNext();
  void SendAbort(const LogTransaction& transaction);
  void SendRow(const LogTransaction& transaction, const LogRow& row);
  void SendData(Lsn start, std::string payload);
  void SendKeepalive(bool reply_requested);
  void CheckDone();
  void ArmTimer();
  void OnTimer();
  void Leave();

  SimPostgres& server_;
  Context& context_;
  std::shared_ptr<Link> link_;
  const int pid_;
  const Lsn start_;
  bool alive_ = true;
  bool stopping_ = false;
  std::optional<absl::Status> farewell_;
  MonoTime client_awake_since_;

  // Before the start: decoding reads them and does not filter them by position.
  size_t earlier_aborts_ = 0;
  size_t next_transaction_ = 0;
  size_t next_row_ = 0;
  bool begun_ = false;
  bool sends_other_rows_ = true;  // of this transaction
  bool asked_ = false;            // requested a reply within this transaction
  std::set<std::pair<uint32_t, int>> described_;
  int outbox_schema_ = -1;  // schema of the last Relation message

  Lsn sent_;  // end of the last record that was decoded and sent
  Lsn write_;
  Lsn flush_;
  MonoTime last_reply_;
  bool waiting_for_reply_ = false;
  // The server tells a client that lags once, and again after each reply.
  bool replied_ = false;
  Lsn reported_;
  bool timer_armed_ = false;
};

}  // namespace walrelay::sim

// WalSender: the server's end of one replication connection.
//
// Sends each transaction whose commit record is not before the start, in commit order; a keepalive
// each time it has run out of log and the client is behind; one that asks for a reply after half of
// wal_sender_timeout without a word from the client, and gives up after all of it. While the
// server shuts down it ends only when the client has confirmed exactly what was sent.
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

  // Sends what there is and the socket takes.
  void Pump();
  // The client has read: there may be room again.
  void OnRoom();
  // The client's bytes, when they arrive.
  void OnStatus(const StandbyStatus& status);
  // True: it was read, and all before it.
  bool OnCopyDone();
  void OnClientGone() { Leave(); }

  // Ends the connection; the client sees `reason`, when it sees anything.
  void End(const absl::Status& reason);
  // The same of a server process that is asked to end: it says `reason` first, and waits until
  // there is room for that.
  void EndWithFarewell(const absl::Status& reason);
  // The server shuts down: end when the client has everything.
  void Stop();

  Link& link() { return *link_; }
  int pid() const { return pid_; }
  bool alive() const { return alive_; }
  // The client's process runs since then: before that its silence is not its fault.
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

  size_t earlier_aborts_ =
      0;  // before the start: decoding reads them, and no position filters them
  size_t next_transaction_ = 0;
  size_t next_row_ = 0;
  bool begun_ = false;
  bool asked_ = false;  // for a reply, within this transaction
  std::set<std::pair<uint32_t, int>> described_;
  int outbox_schema_ = -1;  // as described last

  Lsn sent_;  // end of the last record that was decoded and sent
  Lsn write_;
  Lsn flush_;
  MonoTime last_reply_;
  bool waiting_for_reply_ = false;
  bool timer_armed_ = false;
};

}  // namespace walrelay::sim

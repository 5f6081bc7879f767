// PgSnapshotSource: the implementation of SnapshotSource with libpq, non-blocking.
//
// Uses an ordinary connection of the relay's role to the address of the stream's server, so that no
// name is resolved and a list of hosts cannot lead to another server. The first query on a
// connection also reads which process has acquired the slot. If it is not the stream's process, the
// connection leads to another server, whose xids are unrelated to the stream.
//
// Needs no privilege beyond LOGIN: every role may execute pg_current_snapshot().
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>

#include "base/program.h"
#include "postgres/connection_parameters.h"
#include "postgres/pg_replication_source.h"
#include "walrelay/visibility.h"

namespace walrelay {

struct SourceConfig;

class PgSnapshotSource final : public SnapshotSource {
 public:
  // Both arguments must outlive the source.
  PgSnapshotSource(const SourceConfig& config, const PgReplicationSource& stream);
  ~PgSnapshotSource() override;

  void Request(int walsender_pid) override;
  absl::StatusOr<std::optional<XidSnapshot>> Poll() override;
  void Close() override;
  int poll_fd() const override;
  bool wants_write() const override { return wants_write_; }

 private:
  // kClosed: no connection. kPassword: the command for the password runs. kConnecting:
  // PQconnectPoll() is in progress. kIdle: connected, no query. kAsked: a query was sent.
  enum class State : uint8_t { kClosed, kPassword, kConnecting, kIdle, kAsked };

  struct Deleter {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  // Starts to connect to the server of the stream, or the command for the password before that.
  absl::Status Open();
  absl::Status AwaitPassword();
  absl::Status Connect(const std::optional<Secret>& password);
  // Advances the connection as far as possible without waiting; then sends the first query.
  absl::Status ContinueConnecting();
  absl::Status Send(const std::string& query);
  absl::Status Flush();
  // The snapshot once the result is complete; nullopt before.
  absl::StatusOr<std::optional<XidSnapshot>> Receive();
  // Checks the answer to the first query of a connection, and parses the snapshot.
  absl::StatusOr<XidSnapshot> Read(const PGresult* result);
  // Closes the connection, and returns the error that SnapshotSource documents.
  absl::Status Fail(const absl::Status& cause);

  const SourceConfig& config_;
  const PgReplicationSource& stream_;
  std::optional<Program> password_command_;  // of kPassword
  std::unique_ptr<PGconn, Deleter> connection_;
  State state_ = State::kClosed;
  // The walsender of the stream that the snapshots are for. Another pid means another server or
  // another session.
  int walsender_pid_ = 0;
  bool verified_ = false;  // this connection leads to the stream's server
  bool wants_write_ = false;
  bool stream_ended_ = false;            // the slot's active process is not the stream's
  absl::Status ask_error_;               // error of Request(); Poll() returns it
  std::optional<XidSnapshot> snapshot_;  // read before the end of the result
};

}  // namespace walrelay

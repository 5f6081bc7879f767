// PgConnection: one libpq connection whose waits can be interrupted.
//
// Connecting and querying block only in poll(), which waits for the socket, a deadline and an
// interrupt descriptor. A process that receives a stop request therefore does not wait for a dead
// network. libpq resolves host names, which blocks for as long as the resolver does: a thread of
// its own does that part of each attempt, and an attempt that is abandoned leaves it behind.
//
// Not thread-safe: a connection belongs to one thread.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection_parameters.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// The version of the libpq in use, as returned by PQlibVersion(): 150018.
// For messages, and for the findings of `doctor`.
int LibpqVersion();

// Starts to connect: PQconnectStartParams(), which blocks only while it resolves the name of a
// host. nullptr when out of memory. The caller closes the connection with PQfinish().
PGconn* StartConnecting(const ConnectionParameters& parameters);

// Whether a thread still resolves a name for an attempt that was abandoned. The process must end
// with _Exit() then: exit() would destroy what the thread uses.
bool NamesAreBeingResolved();

// PQconnectPoll(), which may send a password, unless the policy forbids the connection: checks the
// address of the server and the sslmode that libpq uses before, and that the connection is
// encrypted at its end. REQUIRES: as for PQconnectPoll(). Errors: WR-1006; the connection must be
// closed then.
absl::StatusOr<PostgresPollingStatusType> PollConnecting(PGconn* connection, Transport transport);

struct PgResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};

// A result set with access to columns by name, so that a query may use SELECT * for columns that
// depend on the server's version.
// Owns the result. Views into it are valid as long as it lives.
class PgResult {
 public:
  explicit PgResult(PGresult* result) : result_(result) {}

  int rows() const { return PQntuples(result_.get()); }
  // nullopt: NULL, or no such column.
  // Text format: what the server prints, not a binary value.
  std::optional<std::string_view> Get(int row, const char* column) const;
  // By position, for columns whose names are not known.
  std::optional<std::string_view> At(int row, int column) const;
  std::string_view Text(int row, const char* column) const { return Get(row, column).value_or(""); }
  // Postgres prints booleans as "t" and "f".
  bool Bool(int row, const char* column) const { return Text(row, column) == "t"; }
  // 0 if the value is not a number.
  int64_t Int(int row, const char* column) const;
  // 0/0 if the value is not a position.
  Lsn Position(int row, const char* column) const;
  // A number of seconds with a fraction, as from extract(epoch FROM ...); nullopt: NULL.
  std::optional<Micros> Seconds(int row, const char* column) const;
  const PGresult* get() const { return result_.get(); }

 private:
  std::unique_ptr<PGresult, PgResultDeleter> result_;
};

class PgConnection {
 public:
  // Connects to one host (EachHost() of connection_parameters.h). `interrupt_fd`: when it becomes
  // readable, waits end with kCancelled; -1 for none. It is not read.
  // `interrupt_fd` is not owned. Errors: kCancelled, WR-2001 after `timeout`, and those of
  // PollConnecting() and ConnectError().
  static absl::StatusOr<PgConnection> Connect(const ConnectionParameters& parameters,
                                              Transport transport, Micros timeout,
                                              int interrupt_fd);

  // Runs one SQL or replication command and returns its rows, if any. An error of the server is
  // mapped to an ErrorCode and leaves the connection open.
  // Uses the simple query protocol, which has no parameters: the caller quotes text from outside
  // (postgres/quote.h). For several statements, returns the result of the last one, or the first
  // error. Errors: kCancelled, WR-2001 after `timeout`, WR-2005; after these three the connection
  // must be closed, because an answer may still arrive.
  absl::StatusOr<PgResult> Query(const std::string& command, Micros timeout);

  // The same for a result that need not fit into memory: sends the command, whose rows NextRow()
  // then returns one at a time. `binary`: values have the binary format of their types. Blocks
  // until the command is sent, at most `timeout`. REQUIRES: one statement; the connection is an
  // ordinary one, and all rows of an earlier command were read.
  absl::Status SendQuery(const std::string& command, bool binary, Micros timeout);
  // The next row, as a result with one row; nullopt after the last one. Not reading delays the
  // server: libpq holds what the socket's buffer holds, and one row. Errors: as for Query(). After
  // an error there are no more rows.
  absl::StatusOr<std::optional<PgResult>> NextRow(Micros timeout);

  // The SQLSTATE of the last Query() or NextRow() if the server returned an error for it, else "".
  // The error itself carries an ErrorCode, which several SQLSTATEs share.
  const std::string& last_sqlstate() const { return last_sqlstate_; }

  // Sets a deadline for all further queries, in addition to their own timeouts.
  // For a call that consists of several queries and must end at a certain time as a whole.
  // time_point::max() removes the deadline.
  void LimitTo(std::chrono::steady_clock::time_point limit) { limit_ = limit; }

  // `callback` is called for each NOTICE or WARNING while the connection reads.
  // It is called on the connection's thread, inside Query() or Receive(). Without one, notices are
  // dropped; libpq's own default would print them to standard error.
  void OnNotice(std::function<void(const PGresult*)> callback);

  std::string server_version() const;                                            // "15.18"
  int server_version_num() const { return PQserverVersion(connection_.get()); }  // 150018
  std::string application_name() const;
  std::string user() const { return PQuser(connection_.get()); }
  std::string database() const { return PQdb(connection_.get()); }
  // A setting that the server reports without a query, such as "is_superuser"; "" if it does not
  // report it. Source: PQparameterStatus().
  std::string ReportedSetting(const char* name) const;
  // The hash with which ALTER ROLE ... PASSWORD stores `password`, computed here: the server never
  // receives the password. Always SCRAM-SHA-256, which every supported server has, and which a line
  // of pg_hba.conf with `md5` also accepts; a line with `scram-sha-256` does not accept the default
  // of Postgres 13, which is md5. Errors: WR-2012 if the hash cannot be computed.
  absl::StatusOr<std::string> HashPassword(const std::string& role,
                                           const std::string& password) const;
  // For functions of libpq that this class does not wrap. It remains the owner.
  PGconn* get() const { return connection_.get(); }
  // OpenSSL's SSL object, owned by the connection; nullptr without TLS.
  void* tls() const { return PQsslStruct(connection_.get(), "OpenSSL"); }
  int socket() const { return PQsocket(connection_.get()); }

 private:
  struct Deleter {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using NoticeCallback = std::function<void(const PGresult*)>;

  PgConnection(PGconn* connection, int interrupt_fd)
      : connection_(connection), interrupt_fd_(interrupt_fd) {}

  // Continues PQconnectStartParams() until the connection is ready or has failed.
  absl::Status FinishConnecting(Transport transport,
                                std::chrono::steady_clock::time_point deadline);
  // Waits until the socket is ready, until the deadline, or until the interrupt descriptor is
  // readable.
  absl::Status Wait(bool for_write, std::chrono::steady_clock::time_point deadline) const;
  // Waits until the output is sent.
  absl::Status FlushOutput(std::chrono::steady_clock::time_point deadline);
  // The error of a command that failed; notes its SQLSTATE.
  absl::Status FailureOf(const PgResult& result);
  // The next result of the present command, nullptr after the last one.
  absl::StatusOr<PGresult*> NextResult(std::chrono::steady_clock::time_point deadline);

  std::unique_ptr<PGconn, Deleter> connection_;
  std::unique_ptr<NoticeCallback> notice_;  // on the heap: libpq keeps a pointer to it
  int interrupt_fd_ = -1;
  std::string last_sqlstate_;
  // See LimitTo().
  std::chrono::steady_clock::time_point limit_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace walrelay

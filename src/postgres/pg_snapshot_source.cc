#include "postgres/pg_snapshot_source.h"

#include <fmt/format.h>
#include <poll.h>

#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "postgres/connection.h"
#include "postgres/pg_error.h"
#include "postgres/session_settings.h"
#include "postgres/synchronous_standbys.h"
#include "stream/xid_snapshot.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Cheap: the function reads shared memory, and no table.
constexpr const char* kQuestion = "SELECT pg_catalog.pg_current_snapshot()";

// The columns of the result. Only the first query on a connection has more than the first column.
enum Column { kSnapshot, kSlotReader, kStandbyNames };

std::string FirstQuestion(std::string_view slot, int version) {
  return fmt::format(
      "{}, (SELECT active_pid FROM pg_catalog.pg_replication_slots WHERE slot_name "
      "OPERATOR(pg_catalog.=) {}), pg_catalog.current_setting('synchronous_standby_names'){}",
      kQuestion, QuoteLiteral(slot), LaterSettingColumns(ConnectionPurpose::kSql, version));
}

// Without waiting: the relay's thread polls the descriptor.
bool IsReady(int fd, short events) {
  pollfd polled{fd, events, 0};
  return ::poll(&polled, 1, 0) > 0;
}

std::string_view ValueOf(const PGresult* result, int column) {
  return {PQgetvalue(result, 0, column), static_cast<size_t>(PQgetlength(result, 0, column))};
}

}  // namespace

PgSnapshotSource::PgSnapshotSource(const SourceConfig& config, const PgReplicationSource& stream)
    : config_(config), stream_(stream) {}

PgSnapshotSource::~PgSnapshotSource() = default;

// Errors are returned by Poll(), so that the caller has one place for them.
void PgSnapshotSource::Request(int walsender_pid) {
  WR_CHECK(state_ == State::kClosed || state_ == State::kIdle, "no query is in progress");
  if (walsender_pid_ != walsender_pid) {
    Close();
    walsender_pid_ = walsender_pid;
  }
  ask_error_ = state_ == State::kIdle ? Send(kQuestion) : Open();
}

absl::Status PgSnapshotSource::Open() {
  if (config_.password_command.empty()) {
    return Connect(std::nullopt);
  }
  state_ = State::kPassword;
  WR_ASSIGN_OR_RETURN(password_command_,
                      Program::Start(config_.password_command, ErrorCode::kPasswordCommand));
  return absl::OkStatus();
}

absl::Status PgSnapshotSource::AwaitPassword() {
  WR_ASSIGN_OR_RETURN(const std::optional<Secret> password, password_command_->Poll());
  if (!password) {
    return absl::OkStatus();
  }
  password_command_.reset();
  return Connect(password);
}

absl::Status PgSnapshotSource::Connect(const std::optional<Secret>& password) {
  verified_ = false;
  state_ = State::kConnecting;
  WR_ASSIGN_OR_RETURN(ConnectionParameters parameters,
                      MakeConnectionParameters(config_, ConnectionPurpose::kSql));
  if (password) {
    SetPassword(parameters, *password);
  }
  const ConnectionParameters peer = stream_.Peer();
  if (peer.empty()) {
    return Error(ErrorCode::kConnectionLost, "the stream has ended");
  }
  // The stream's own address instead of the DSN's hosts, of which another one may answer.
  std::erase_if(parameters, [](const auto& each) {
    return each.first == "host" || each.first == "hostaddr" || each.first == "port";
  });
  parameters.insert(parameters.end(), peer.begin(), peer.end());
  connection_.reset(StartConnecting(parameters));
  if (connection_ == nullptr) {
    return absl::ResourceExhaustedError("libpq: out of memory");
  }
  PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
  // Notices are ignored: libpq would print them to standard error.
  PQsetNoticeReceiver(
      connection_.get(), [](void*, const PGresult*) {}, nullptr);
  wants_write_ = true;
  return PQstatus(connection_.get()) == CONNECTION_BAD ? ConnectError(connection_.get())
                                                       : absl::OkStatus();
}

// Several steps may be possible at once, as on a local socket.
absl::Status PgSnapshotSource::ContinueConnecting() {
  // PQconnectPoll() assumes that the socket is ready.
  while (IsReady(PQsocket(connection_.get()), wants_write_ ? POLLOUT : POLLIN)) {
    WR_ASSIGN_OR_RETURN(const PostgresPollingStatusType state,
                        PollConnecting(connection_.get(), TransportOf(config_)));
    switch (state) {
      case PGRES_POLLING_OK:
        if (PQsetnonblocking(connection_.get(), 1) != 0) {
          return ConnectError(connection_.get());
        }
        PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
        return Send(FirstQuestion(config_.slot, PQserverVersion(connection_.get())));
      case PGRES_POLLING_WRITING:
        wants_write_ = true;
        break;
      case PGRES_POLLING_READING:
        wants_write_ = false;
        break;
      default:
        return ConnectError(connection_.get());
    }
  }
  return absl::OkStatus();
}

absl::Status PgSnapshotSource::Send(const std::string& query) {
  state_ = State::kAsked;
  if (PQsendQuery(connection_.get(), query.c_str()) == 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_.get())));
  }
  return Flush();
}

absl::Status PgSnapshotSource::Flush() {
  const int flushed = PQflush(connection_.get());
  if (flushed < 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_.get())));
  }
  wants_write_ = flushed > 0;
  return absl::OkStatus();
}

// One step: connect, send or receive, whatever the state allows without waiting.
absl::StatusOr<std::optional<XidSnapshot>> PgSnapshotSource::Poll() {
  WR_CHECK(state_ != State::kClosed && state_ != State::kIdle, "a query is in progress");
  absl::Status status = ask_error_;
  if (status.ok() && state_ == State::kPassword) {
    status = AwaitPassword();
  } else if (status.ok() && state_ == State::kConnecting) {
    status = ContinueConnecting();
  } else if (status.ok() && wants_write_) {
    status = Flush();
  }
  if (!status.ok()) {
    return Fail(status);
  }
  if (state_ != State::kAsked) {
    return std::nullopt;
  }
  auto answer = Receive();
  return answer.ok() ? std::move(answer)
                     : absl::StatusOr<std::optional<XidSnapshot>>(Fail(answer.status()));
}

absl::StatusOr<std::optional<XidSnapshot>> PgSnapshotSource::Receive() {
  if (PQconsumeInput(connection_.get()) == 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_.get())));
  }
  // Rows are complete when PQgetResult() returns nullptr: only then may the next query be sent.
  while (PQisBusy(connection_.get()) == 0) {
    const std::unique_ptr<PGresult, PgResultDeleter> result(PQgetResult(connection_.get()));
    if (result == nullptr) {
      if (!snapshot_) {
        return Error(ErrorCode::kConnectionLost, "the query for a snapshot returned no result");
      }
      state_ = State::kIdle;
      return std::exchange(snapshot_, std::nullopt);
    }
    WR_ASSIGN_OR_RETURN(snapshot_, Read(result.get()));
  }
  return std::nullopt;
}

absl::StatusOr<XidSnapshot> PgSnapshotSource::Read(const PGresult* result) {
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) {
    return ResultError(connection_.get(), result);
  }
  // The pid of the slot's reader is the proof that this connection leads to the stream's server: it
  // is read in the same statement as the snapshot.
  if (!verified_) {
    const std::string_view reader = ValueOf(result, kSlotReader);
    if (reader != std::to_string(walsender_pid_)) {
      stream_ended_ = true;
      return Error(
          ErrorCode::kConnectionLost,
          fmt::format("server process {} streamed to walrelay, but slot {} is {}: the "
                      "stream has ended, or another server or a pooler answered",
                      walsender_pid_, config_.slot,
                      reader.empty() ? "not active" : "read by process " + std::string(reader)));
    }
    const char* own_name = PQparameterStatus(connection_.get(), "application_name");
    if (NamesStandby(ValueOf(result, kStandbyNames), own_name != nullptr ? own_name : "")) {
      LogWarning("waits_for_itself",
                 "synchronous_standby_names includes walrelay: commits may wait for walrelay while "
                 "it waits for them to become visible",
                 {{"synchronous_standby_names", Printable(ValueOf(result, kStandbyNames), 200)}});
    }
    verified_ = true;
  }
  auto snapshot = ParseSnapshot(ValueOf(result, kSnapshot));
  if (!snapshot) {
    return Error(
        ErrorCode::kConnectionLost,
        fmt::format("expected a snapshot, got '{}'", Printable(ValueOf(result, kSnapshot), 60)));
  }
  return *std::move(snapshot);
}

// Closes the connection. Maps every error except the end of the stream to kVisibilityUnknown.
absl::Status PgSnapshotSource::Fail(const absl::Status& cause) {
  // Close() resets it.
  const bool stream_ended = stream_ended_;
  Close();
  return stream_ended ? cause
                      : Error(ErrorCode::kVisibilityUnknown,
                              fmt::format("{} {}", ToString(CodeOf(cause)), MessageOf(cause)));
}

// PQfinish() sends Terminate and does not wait.
void PgSnapshotSource::Close() {
  password_command_.reset();
  connection_.reset();
  snapshot_.reset();
  state_ = State::kClosed;
  wants_write_ = false;
  stream_ended_ = false;
}

int PgSnapshotSource::poll_fd() const {
  if (state_ == State::kPassword && password_command_) {
    return password_command_->poll_fd();
  }
  const bool under_way = state_ == State::kConnecting || state_ == State::kAsked;
  return under_way && connection_ != nullptr ? PQsocket(connection_.get()) : -1;
}

}  // namespace walrelay

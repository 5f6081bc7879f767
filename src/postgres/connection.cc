#include "postgres/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/loopback.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "postgres/pg_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime After(Micros timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

// In milliseconds as poll() takes them, rounded up, so that a wait does not end just before its
// deadline. A minute at most: the caller computes the rest again.
int MillisUntil(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

// libpq calls it with the pointer that PQsetNoticeReceiver() was given.
void ForwardNotice(void* callback, const PGresult* result) {
  const auto& notice = *static_cast<std::function<void(const PGresult*)>*>(callback);
  if (notice) {
    notice(result);
  }
}

// A resolver that hangs takes up to a minute per attempt; more attempts would not help.
constexpr int kMostAbandoned = 8;
std::atomic<int> abandoned_attempts{0};

// An attempt's thread shares this with the caller, who may have left.
struct Attempt {
  std::mutex mutex;
  UniqueFd done{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  PGconn* connection = nullptr;  // guarded by the mutex, as the following
  bool ended = false;
  bool abandoned = false;
};

void RunAttempt(const std::shared_ptr<Attempt>& attempt, const ConnectionParameters& parameters) {
  PGconn* const connection = StartConnecting(parameters);
  const std::lock_guard lock(attempt->mutex);
  attempt->ended = true;
  if (attempt->abandoned) {
    PQfinish(connection);
    abandoned_attempts.fetch_sub(1);
    return;
  }
  attempt->connection = connection;
  eventfd_write(attempt->done.get(), 1);
}

// Waits until a descriptor is readable. Errors: kCancelled by the interrupt descriptor, which comes
// first; WR-2001 at the deadline.
absl::Status AwaitReady(pollfd ready, int interrupt_fd, SteadyTime deadline) {
  pollfd polled[] = {ready, {interrupt_fd, POLLIN, 0}};
  while (true) {
    const int count = ::poll(polled, 2, MillisUntil(deadline));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    // A socket that is always ready must not delay the end of the process.
    if (polled[1].revents != 0) {
      return absl::CancelledError("the process is stopping");
    }
    if (count > 0) {
      return absl::OkStatus();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error(ErrorCode::kPostgresUnreachable, "timed out");
    }
  }
}

// getaddrinfo() cannot be interrupted, and libpq calls it in PQconnectStartParams(): so that the
// caller can leave, a thread makes the call. nullptr: out of memory.
absl::StatusOr<PGconn*> StartOnThread(const ConnectionParameters& parameters, SteadyTime deadline,
                                      int interrupt_fd) {
  if (abandoned_attempts.load() >= kMostAbandoned) {
    return Error(
        ErrorCode::kPostgresUnreachable,
        "earlier attempts still resolve the name of the host: the resolver does not answer");
  }
  const auto attempt = std::make_shared<Attempt>();
  std::thread(InLogScope([attempt, parameters] { RunAttempt(attempt, parameters); })).detach();
  const absl::Status status = AwaitReady({attempt->done.get(), POLLIN, 0}, interrupt_fd, deadline);
  const std::lock_guard lock(attempt->mutex);
  if (status.ok()) {
    return attempt->connection;
  }
  if (attempt->ended) {
    PQfinish(attempt->connection);
  } else {
    attempt->abandoned = true;
    abandoned_attempts.fetch_add(1);
  }
  return absl::IsCancelled(status)
             ? status
             : Error(
                   ErrorCode::kPostgresUnreachable,
                   "timed out while resolving the name of the host: the resolver does not answer");
}

// The sslmode that libpq uses for this connection, wherever it comes from.
std::string ModeOf(PGconn* connection) {
  const ConninfoOptions options(PQconninfo(connection));
  for (const PQconninfoOption* each = options.get(); each != nullptr && each->keyword != nullptr;
       ++each) {
    if (std::string_view(each->keyword) == "sslmode" && each->val != nullptr) {
      return each->val;
    }
  }
  return "";
}

// PGRES_EMPTY_QUERY and PGRES_NONFATAL_ERROR do not occur: walrelay sends no empty query, and libpq
// never returns the latter.
bool Failed(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

}  // namespace

// Waits for nothing but the resolution of a host's name. nullptr: out of memory.
PGconn* StartConnecting(const ConnectionParameters& parameters) {
  std::vector<const char*> keys;
  std::vector<const char*> values;
  for (const auto& [key, value] : parameters) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  // expand_dbname = 0: dbname is never parsed as a connection string.
  return PQconnectStartParams(keys.data(), values.data(), 0);
}

bool NamesAreBeingResolved() {
  return abandoned_attempts.load() > 0;
}

// The server's address is known as soon as libpq has resolved the host's name, before anything is
// sent to it.
absl::StatusOr<PostgresPollingStatusType> PollConnecting(PGconn* connection, Transport transport) {
  const std::string address = PQhostaddr(connection);
  const bool local = address.empty() || IsLoopback(address);
  if (transport == Transport::kAny || local) {
    return PQconnectPoll(connection);
  }
  if (const std::string mode = ModeOf(connection); mode != "verify-full") {
    return Error(ErrorCode::kInsecureTransport,
                 fmt::format("[source] host {} has the address {}, which is another host's, and "
                             "sslmode={} may send rows and passwords in clear text",
                             Printable(PQhost(connection), 200), Printable(address, 60), mode));
  }
  const PostgresPollingStatusType state = PQconnectPoll(connection);
  if (state == PGRES_POLLING_OK && PQsslInUse(connection) == 0 && PQgssEncInUse(connection) == 0) {
    return Error(ErrorCode::kInsecureTransport,
                 fmt::format("[source] the connection to {} is not encrypted", address));
  }
  return state;
}

int LibpqVersion() {
  return PQlibVersion();
}

// SELECT * on a catalog of another version may lack the column: that is the same as NULL.
std::optional<std::string_view> PgResult::Get(int row, const char* column) const {
  const int field = PQfnumber(result_.get(), column);
  return field < 0 ? std::nullopt : At(row, field);
}

std::optional<std::string_view> PgResult::At(int row, int column) const {
  if (row >= rows() || PQgetisnull(result_.get(), row, column) != 0) {
    return std::nullopt;
  }
  return std::string_view(PQgetvalue(result_.get(), row, column),
                          static_cast<size_t>(PQgetlength(result_.get(), row, column)));
}

int64_t PgResult::Int(int row, const char* column) const {
  const std::string_view text = Text(row, column);
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Lsn PgResult::Position(int row, const char* column) const {
  return Lsn::Parse(Text(row, column)).value_or(Lsn());
}

std::optional<Micros> PgResult::Seconds(int row, const char* column) const {
  const auto text = Get(row, column);
  if (!text) {
    return std::nullopt;
  }
  return Micros(std::llround(std::strtod(std::string(*text).c_str(), nullptr) * 1e6));
}

absl::StatusOr<PgConnection> PgConnection::Connect(const ConnectionParameters& parameters,
                                                   Transport transport, Micros timeout,
                                                   int interrupt_fd) {
  const SteadyTime deadline = After(timeout);
  WR_ASSIGN_OR_RETURN(PGconn* const started, StartOnThread(parameters, deadline, interrupt_fd));
  PgConnection connection(started, interrupt_fd);
  if (connection.get() == nullptr) {
    return absl::ResourceExhaustedError("libpq: out of memory");
  }
  // While connecting, libpq returns no result object, only a text: the verbose form contains the
  // SQLSTATE that decides the error.
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  connection.notice_ = std::make_unique<NoticeCallback>();
  PQsetNoticeReceiver(connection.get(), ForwardNotice, connection.notice_.get());
  WR_RETURN_IF_ERROR(connection.FinishConnecting(transport, deadline));
  PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
  return connection;
}

absl::Status PgConnection::FinishConnecting(Transport transport, SteadyTime deadline) {
  // libpq's documentation: the first wait is for writing.
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (PQstatus(get()) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
         state != PGRES_POLLING_FAILED) {
    WR_RETURN_IF_ERROR(Wait(state == PGRES_POLLING_WRITING, deadline));
    WR_ASSIGN_OR_RETURN(state, PollConnecting(get(), transport));
  }
  return state == PGRES_POLLING_OK ? absl::OkStatus() : ConnectError(get());
}

absl::Status PgConnection::Wait(bool for_write, SteadyTime deadline) const {
  return AwaitReady({socket(), static_cast<short>(for_write ? POLLOUT : POLLIN), 0}, interrupt_fd_,
                    deadline);
}

// PQgetResult() alone would block until the result is complete.
absl::StatusOr<PGresult*> PgConnection::NextResult(SteadyTime deadline) {
  while (PQisBusy(get()) != 0) {
    WR_RETURN_IF_ERROR(Wait(/*for_write=*/false, deadline));
    if (PQconsumeInput(get()) == 0) {
      return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(get())));
    }
  }
  return PQgetResult(get());
}

absl::StatusOr<PgResult> PgConnection::Query(const std::string& command, Micros timeout) {
  const SteadyTime deadline = std::min(After(timeout), limit_);
  last_sqlstate_.clear();
  // The simple protocol: the only one that a replication connection supports.
  if (PQsendQuery(get(), command.c_str()) == 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(get())));
  }
  WR_RETURN_IF_ERROR(FlushOutput(deadline));
  // A command may have several results, of which the last one counts unless an earlier one failed.
  PgResult last(nullptr);
  bool failed = false;
  while (true) {
    WR_ASSIGN_OR_RETURN(PGresult* const next, NextResult(deadline));
    if (next == nullptr) {
      break;
    }
    PgResult result(next);
    // The first error is returned. Later results are ignored but must be read.
    if (!failed) {
      failed = Failed(next);
      last = std::move(result);
    }
    // From here on the connection is a stream: PQgetResult() returns the same result again and
    // again.
    if (PQresultStatus(next) == PGRES_COPY_BOTH) {
      break;
    }
  }
  if (failed || last.get() == nullptr) {
    return FailureOf(last);
  }
  return last;
}

absl::Status PgConnection::FlushOutput(SteadyTime deadline) {
  for (int flushed = PQflush(get()); flushed > 0; flushed = PQflush(get())) {
    WR_RETURN_IF_ERROR(Wait(/*for_write=*/true, deadline));
  }
  return absl::OkStatus();
}

absl::Status PgConnection::FailureOf(const PgResult& result) {
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  last_sqlstate_ = state != nullptr ? state : "";
  return ResultError(get(), result.get());
}

// The extended protocol, because only it lets the client choose the format of a SELECT's result. (A
// binary cursor would need the plan of a cursor, which prefers a fast first row.)
absl::Status PgConnection::SendQuery(const std::string& command, bool binary, Micros timeout) {
  last_sqlstate_.clear();
  if (PQsendQueryParams(get(), command.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                        binary ? 1 : 0) == 0 ||
      PQsetSingleRowMode(get()) == 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(get())));
  }
  return FlushOutput(std::min(After(timeout), limit_));
}

absl::StatusOr<std::optional<PgResult>> PgConnection::NextRow(Micros timeout) {
  const SteadyTime deadline = std::min(After(timeout), limit_);
  absl::Status failure;
  while (true) {
    WR_ASSIGN_OR_RETURN(PGresult* const next, NextResult(deadline));
    if (next == nullptr) {
      return failure.ok() ? absl::StatusOr<std::optional<PgResult>>(std::nullopt) : failure;
    }
    PgResult result(next);
    if (PQresultStatus(next) == PGRES_SINGLE_TUPLE) {
      return result;
    }
    // Behind the last row a result without rows follows; it must be read, too.
    if (failure.ok() && Failed(next)) {
      failure = FailureOf(result);
    }
  }
}

std::string PgConnection::ReportedSetting(const char* name) const {
  const char* value = PQparameterStatus(get(), name);
  return value != nullptr ? value : "";
}

std::string PgConnection::application_name() const {
  return ReportedSetting("application_name");
}

// As the server reports it, with a distribution's suffix: for display only.
std::string PgConnection::server_version() const {
  std::string version = ReportedSetting("server_version");
  return version.empty() ? "?" : version;
}

absl::StatusOr<std::string> PgConnection::HashPassword(const std::string& role,
                                                       const std::string& password) const {
  const std::unique_ptr<char, decltype(&PQfreemem)> hash(
      PQencryptPasswordConn(get(), password.c_str(), role.c_str(), "scram-sha-256"), &PQfreemem);
  if (hash == nullptr) {
    return Error(ErrorCode::kPostgresError,
                 fmt::format("cannot hash the password: {}", Readable(PQerrorMessage(get()))));
  }
  return std::string(hash.get());
}

void PgConnection::OnNotice(std::function<void(const PGresult*)> callback) {
  *notice_ = std::move(callback);
}

}  // namespace walrelay

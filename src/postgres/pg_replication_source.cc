#include "postgres/pg_replication_source.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/check.h"
#include "base/log.h"
#include "pgoutput/copy_data.h"
#include "postgres/facts.h"
#include "postgres/pg_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Within the replication grammar's string, within the list of names that pgoutput splits. The
// loader has refused backslashes and control characters.
std::string QuotePublication(std::string_view name) {
  std::string out = "'\"";
  for (const char c : name) {
    if (c == '"' || c == '\'') {
      out += c;
    }
    out += c;
  }
  return out + "\"'";
}

// "WARNING: skipped loading publication" (Postgres 18): rows were left out of the stream. By
// SQLSTATE, object_not_in_prerequisite_state, where the text may be translated.
bool IsPublicationSkipped(const PGresult* notice) {
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  return (state != nullptr && std::string_view(state) == "55000") ||
         (text != nullptr &&
          std::string_view(text).find("skipped loading publication") != std::string_view::npos);
}

void LogNotice(const PGresult* notice) {
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const bool warning = severity != nullptr && std::string_view(severity) == "WARNING";
  Log(warning ? LogLevel::kWarning : LogLevel::kDebug, "postgres_notice",
      Readable(text != nullptr ? text : ""), {{"severity", severity != nullptr ? severity : "?"}});
}

}  // namespace

PgReplicationSource::PgReplicationSource(const SourceConfig& config, int interrupt_fd)
    : config_(config), interrupt_fd_(interrupt_fd) {}

PgReplicationSource::~PgReplicationSource() {
  Close();
}

absl::StatusOr<SourceFacts> PgReplicationSource::Open() {
  Close();
  WR_RETURN_IF_ERROR(Connect());
  const Micros timeout = config_.connect_timeout;
  SourceFacts facts;
  WR_ASSIGN_OR_RETURN(facts.server, ReadServerFacts(*connection_, timeout));
  WR_RETURN_IF_ERROR(CheckMessages(config_, facts.server.version));
  WR_ASSIGN_OR_RETURN(facts.slot, ReadSlotFacts(*connection_, config_.slot, timeout));
  WR_ASSIGN_OR_RETURN(facts.publication,
                      ReadPublicationFacts(*connection_, config_.publication, timeout));
  WR_ASSIGN_OR_RETURN(facts.tables,
                      ReadTableFacts(*connection_, config_.publication, config_.tables, timeout));
  if (facts.slot && !facts.slot->active) {
    // The stream gets a server process that has answered no query. What one has looked up stays in
    // its catalog caches, and decoding would find it there where it needs the catalog as of the
    // log's position: rows from before the publication would be passed over without a word, rows
    // from before an ALTER TABLE be read by its result.
    WR_RETURN_IF_ERROR(Connect());
    WR_RETURN_IF_ERROR(ReadIdentity(*connection_, timeout, facts.server));
  }
  publication_skipped_ = false;
  return facts;
}

absl::Status PgReplicationSource::Connect() {
  connection_.reset();
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters,
                      MakeConnectionParameters(config_, ConnectionPurpose::kReplication));
  WR_ASSIGN_OR_RETURN(connection_,
                      PgConnection::Connect(parameters, config_.connect_timeout, interrupt_fd_));
  connection_->OnNotice([this](const PGresult* notice) {
    publication_skipped_ = publication_skipped_ || IsPublicationSkipped(notice);
    LogNotice(notice);
  });
  return MatchClientEncoding();
}

// In a SQL_ASCII database the server can convert nothing, and fails on the first byte that is not
// ASCII when asked for UTF-8. There the bytes go out as they are.
absl::Status PgReplicationSource::MatchClientEncoding() {
  const char* encoding = PQparameterStatus(connection_->get(), "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "SQL_ASCII") {
    return absl::OkStatus();
  }
  return connection_->Query("SET client_encoding TO 'SQL_ASCII'", config_.connect_timeout).status();
}

absl::StatusOr<std::optional<SlotFacts>> PgReplicationSource::InspectSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  return ReadSlotFacts(*connection_, config_.slot, config_.connect_timeout);
}

absl::Status PgReplicationSource::TerminateBackend(int pid) {
  WR_CHECK(connection_.has_value(), "the source is open");
  return connection_
      ->Query(fmt::format("SELECT pg_terminate_backend({})", pid), config_.connect_timeout)
      .status();
}

absl::Status PgReplicationSource::CreateSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  // No snapshot is wanted. lock_timeout of the session bounds the wait for old transactions.
  return connection_
      ->Query(fmt::format("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput NOEXPORT_SNAPSHOT",
                          config_.slot),
              std::chrono::seconds(30))
      .status();
}

absl::Status PgReplicationSource::DropSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  // Not WAIT, which would drop it under a relay that has taken over as soon as that one stumbles.
  return connection_
      ->Query(fmt::format("DROP_REPLICATION_SLOT {}", config_.slot), config_.connect_timeout)
      .status();
}

absl::Status PgReplicationSource::Start(Lsn position) {
  WR_CHECK(connection_.has_value(), "the source is open");
  const auto result = connection_->Query(
      fmt::format(
          "START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names {}{}{})",
          config_.slot, position.ToString(), QuotePublication(config_.publication),
          config_.binary ? ", binary 'true'" : "",
          config_.message_prefixes.empty() ? "" : ", messages 'true'"),
      config_.connect_timeout);
  WR_RETURN_IF_ERROR(result.status());
  if (PQresultStatus(result->get()) != PGRES_COPY_BOTH) {
    return Error(ErrorCode::kNotReplication, "START_REPLICATION did not start a stream");
  }
  if (PQsetnonblocking(connection_->get(), 1) != 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_->get())));
  }
  return absl::OkStatus();
}

// One call of PQconsumeInput() reads no more than libpq's buffer has room for, a few dozen rows: it
// goes on until the socket has nothing more. Of a large row it may read many pieces before there is
// a message, and libpq does not tell: so the socket is asked whether there is anything.
absl::StatusOr<bool> PgReplicationSource::Receive(size_t max_bytes) {
  WR_CHECK(connection_.has_value(), "the source is open");
  int waiting = 0;
  const bool any = ::ioctl(poll_fd(), FIONREAD, &waiting) == 0 && waiting > 0;
  bool ended = false;
  for (size_t before = SIZE_MAX;
       !ended && before != messages_.size() && pending_bytes_ < max_bytes;) {
    before = messages_.size();
    if (PQconsumeInput(connection_->get()) == 0) {
      ended = true;
      break;
    }
    WR_RETURN_IF_ERROR(TakeBuffered(max_bytes, ended));
  }
  if (ended && pending().empty()) {
    return EndOfStream();
  }
  return any;
}

absl::Status PgReplicationSource::TakeBuffered(size_t max_bytes, bool& ended) {
  Taken taken = Taken::kMessage;
  while (taken == Taken::kMessage && pending_bytes_ < max_bytes) {
    taken = TakeMessage();
  }
  ended = taken == Taken::kEnd;
  if (publication_skipped_) {
    return Error(ErrorCode::kPublicationSkipped,
                 fmt::format("publication \"{}\" did not exist yet where the log is being read",
                             config_.publication));
  }
  return absl::OkStatus();
}

PgReplicationSource::Taken PgReplicationSource::TakeMessage() {
  char* buffer = nullptr;
  const int length = PQgetCopyData(connection_->get(), &buffer, /*async=*/1);
  if (length < 0) {
    return Taken::kEnd;
  }
  if (length == 0) {
    return Taken::kNothing;
  }
  buffers_.emplace_back(buffer);
  messages_.emplace_back(buffer, static_cast<size_t>(length));
  pending_bytes_ += static_cast<size_t>(length);
  return Taken::kMessage;
}

// Why the stream ended: the server's error, its orderly end, or a lost connection.
absl::Status PgReplicationSource::EndOfStream() {
  const PgResult result(PQgetResult(connection_->get()));
  if (result.get() == nullptr || PQresultStatus(result.get()) != PGRES_FATAL_ERROR) {
    return Error(ErrorCode::kConnectionLost, "the server ended the stream");
  }
  return ResultError(connection_->get(), result.get());
}

// OK when the stream that has ended was ended by CopyDone: then the server has read all that we
// sent. What follows it may still be on its way, and is not waited for.
absl::Status PgReplicationSource::OrderOfEnd() {
  PGconn* const connection = connection_->get();
  if (PQstatus(connection) != CONNECTION_OK) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection)));
  }
  const PgResult result(PQisBusy(connection) != 0 ? nullptr : PQgetResult(connection));
  const bool failed = result.get() != nullptr && PQresultStatus(result.get()) == PGRES_FATAL_ERROR;
  return failed ? ResultError(connection, result.get()) : absl::OkStatus();
}

std::span<const std::string_view> PgReplicationSource::pending() const {
  return std::span(messages_).subspan(consumed_);
}

void PgReplicationSource::Consume(size_t count) {
  WR_CHECK(count <= messages_.size() - consumed_, "only what is pending is consumed");
  for (size_t i = 0; i < count; ++i) {
    pending_bytes_ -= messages_[consumed_].size();
    buffers_[consumed_].reset();
    ++consumed_;
  }
  if (consumed_ == messages_.size()) {
    buffers_.clear();
    messages_.clear();
    consumed_ = 0;
  }
}

absl::Status PgReplicationSource::SendStatus(const StandbyStatus& status) {
  WR_CHECK(connection_.has_value(), "the source is open");
  const auto bytes = pgoutput::EncodeStandbyStatus(status);
  if (PQputCopyData(connection_->get(), bytes.data(), static_cast<int>(bytes.size())) < 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_->get())));
  }
  return Flush();
}

absl::Status PgReplicationSource::Flush() {
  const int unsent = PQflush(connection_->get());
  wants_write_ = unsent > 0;
  return unsent < 0
             ? Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_->get())))
             : absl::OkStatus();
}

absl::Status PgReplicationSource::Finish(Micros patience) {
  WR_CHECK(connection_.has_value(), "the source is open");
  Consume(pending().size());
  if (PQputCopyEnd(connection_->get(), nullptr) < 0) {
    return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_->get())));
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    WR_RETURN_IF_ERROR(Flush());
    Taken taken = TakeMessage();
    while (taken == Taken::kMessage) {
      Consume(1);
      taken = TakeMessage();
    }
    if (taken == Taken::kEnd) {
      return OrderOfEnd();
    }
    pollfd wanted{poll_fd(), static_cast<short>(POLLIN | (wants_write_ ? POLLOUT : 0)), 0};
    constexpr int kLookAgainMillis = 50;
    if (::poll(&wanted, 1, kLookAgainMillis) > 0 && PQconsumeInput(connection_->get()) == 0) {
      return Error(ErrorCode::kConnectionLost, Readable(PQerrorMessage(connection_->get())));
    }
  }
  return Error(ErrorCode::kConnectionLost, "the server did not end the stream in time");
}

void PgReplicationSource::Close() {
  connection_.reset();
  buffers_.clear();
  messages_.clear();
  consumed_ = 0;
  pending_bytes_ = 0;
  wants_write_ = false;
}

int PgReplicationSource::poll_fd() const {
  return connection_ ? connection_->socket() : -1;
}

}  // namespace walrelay

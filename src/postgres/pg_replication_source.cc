#include "postgres/pg_replication_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "base/quote.h"
#include "pgoutput/copy_data.h"
#include "postgres/catalog_queries.h"
#include "postgres/decoding_start.h"
#include "postgres/incoming_message.h"
#include "postgres/outbox_tables.h"
#include "postgres/pg_error.h"
#include "postgres/publication_state.h"
#include "postgres/server_notice.h"
#include "postgres/session.h"
#include "postgres/slot_error.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kLoginTriggers = 170000;

// Quotes a name in the list of names that pgoutput parses, which is itself a string of the
// replication grammar. The configuration loader rejects backslashes and control characters.
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

std::string_view NoticeField(const PGresult* notice, int field) {
  const char* text = PQresultErrorField(notice, field);
  return text != nullptr ? std::string_view(text) : std::string_view();
}

// "LOG: starting logical decoding for slot", which precedes the stream.
std::optional<Lsn> ConfirmedAtStart(const PGresult* notice) {
  return ConfirmedAtDecodingStart(NoticeField(notice, PG_DIAG_SOURCE_FUNCTION),
                                  NoticeField(notice, PG_DIAG_MESSAGE_DETAIL));
}

// Notices of the server are for its operator; only a warning is worth a line at the default level.
void LogNotice(const PGresult* notice) {
  const std::string_view severity = NoticeField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const std::string detail = Readable(NoticeField(notice, PG_DIAG_MESSAGE_DETAIL));
  const std::string hint = Readable(NoticeField(notice, PG_DIAG_MESSAGE_HINT));
  Log(severity == "WARNING" ? LogLevel::kWarning : LogLevel::kDebug, "postgres_notice",
      Readable(NoticeField(notice, PG_DIAG_MESSAGE_PRIMARY)),
      {{"severity", severity}, {"detail", detail}, {"hint", hint}});
}

}  // namespace

PgReplicationSource::PgReplicationSource(const SourceConfig& config, int interrupt_fd,
                                         std::function<void()> on_step)
    : config_(config), interrupt_fd_(interrupt_fd), on_step_(std::move(on_step)) {}

PgReplicationSource::~PgReplicationSource() {
  Close();
}

absl::StatusOr<SourceInfo> PgReplicationSource::Open() {
  Close();
  // A new attempt may choose any host; the second connection of this attempt goes to the host of
  // the first.
  host_.reset();
  const Deadline deadline = std::chrono::steady_clock::now() + kOpenTimeout;
  WR_RETURN_IF_ERROR(Connect(deadline));
  connection_->LimitTo(deadline);
  WR_ASSIGN_OR_RETURN(SourceInfo info, ReadFacts());
  if (info.slot && !info.slot->active) {
    // The stream needs a server process that has executed no query. Lookups stay in the catalog
    // caches of the process, and decoding would use them where it needs the catalog as of the WAL
    // position: it would silently skip rows from before the publication was created, and decode
    // rows from before an ALTER TABLE with the new columns.
    WR_RETURN_IF_ERROR(Connect(deadline));
    connection_->LimitTo(deadline);
    // The second connection may have reached another server, or the same one after a failover: its
    // identity is read again.
    WR_RETURN_IF_ERROR(ReadIdentity(*connection_, timeout(), info.server));
  }
  connection_->LimitTo(Deadline::max());
  // Warnings of an earlier stream do not concern the next one.
  publication_skipped_ = false;
  return info;
}

void PgReplicationSource::Step() const {
  if (on_step_) {
    on_step_();
  }
}

// The relay compares later readings with the first one, so it does not detect earlier changes. This
// is the only report of them.
absl::Status PgReplicationSource::ReportRecentMembers(const SourceInfo& info) {
  if (!info.slot || info.slot->active || std::exchange(recent_members_reported_, true)) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(
      const RecentChanges recent,
      ReadRecentChanges(*connection_, config_.slot, info.publication_state.identity, timeout()));
  for (const RecentMember& table : recent.tables) {
    LogWarning(
        "rows_before_membership",
        "a table was added to the publication lately, and nothing shows that this was before "
        "the position of the slot: rows from before that are not in the stream, and are not "
        "published",
        {{"table", table.name}, {"xmin_before", table.joined_by}});
  }
  return absl::OkStatus();
}

// The server's position is read first: it is the `before` of the publication's state.
absl::StatusOr<SourceInfo> PgReplicationSource::ReadFacts() {
  SourceInfo info;
  WR_ASSIGN_OR_RETURN(info.server, ReadServerInfo(*connection_, timeout()));
  Step();
  WR_RETURN_IF_ERROR(CheckMessages(config_, info.server.version));
  WR_ASSIGN_OR_RETURN(info.slot, ReadSlotInfo(*connection_, config_.slot, timeout()));
  Step();
  if (!info.slot || info.slot->lost()) {
    WR_ASSIGN_OR_RETURN(const auto recovery,
                        ReadSlotInfo(*connection_, RecoverySlotOf(config_.slot), timeout()));
    info.recovery_pid = recovery ? recovery->active_pid : 0;
  }
  WR_ASSIGN_OR_RETURN(info.publication,
                      ReadPublicationInfo(*connection_, config_.publication, timeout()));
  Step();
  WR_ASSIGN_OR_RETURN(info.tables,
                      ReadTableInfo(*connection_, config_.publication, config_.tables, timeout()));
  Step();
  WR_ASSIGN_OR_RETURN(
      info.publication_state,
      ReadPublicationState(*connection_, config_, /*wal_before=*/info.server.wal_end, timeout()));
  WR_RETURN_IF_ERROR(ReportRecentMembers(info));
  failover_ = info.slot && info.slot->failover;
  WR_ASSIGN_OR_RETURN(login_trigger_, HasLoginTrigger());
  return info;
}

absl::StatusOr<bool> PgReplicationSource::HasLoginTrigger() {
  if (connection_->server_version_num() < kLoginTriggers) {
    return false;
  }
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection_->Query("SELECT d.dathasloginevt AS found FROM pg_catalog.pg_database d WHERE "
                         "d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()",
                         timeout()));
  return row.rows() == 1 && row.Bool(0, "found");
}

// The old connection is closed first: it may hold one of a few walsenders, and the slot.
absl::Status PgReplicationSource::Connect(Deadline deadline) {
  connection_.reset();
  Step();
  SourceConfig config = config_;
  if (sender_timeout_.count() > 0) {
    config.wal_sender_timeout = sender_timeout_;
  }
  const auto left = std::chrono::duration_cast<Micros>(deadline - std::chrono::steady_clock::now());
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(config, {.purpose = ConnectionPurpose::kReplication,
                                           .timeout = left,
                                           .interrupt_fd = interrupt_fd_,
                                           .host = host_}));
  Step();
  connection_ = std::move(session.connection);
  host_ = session.host;
  // The callback refers to this object, which owns the connection: neither outlives the other.
  connection_->OnNotice([this](const PGresult* notice) {
    const ServerNotice meaning =
        MeaningOf({.severity = NoticeField(notice, PG_DIAG_SEVERITY_NONLOCALIZED),
                   .sqlstate = NoticeField(notice, PG_DIAG_SQLSTATE),
                   .function = NoticeField(notice, PG_DIAG_SOURCE_FUNCTION),
                   .message = NoticeField(notice, PG_DIAG_MESSAGE_PRIMARY)});
    publication_skipped_ = publication_skipped_ || meaning == ServerNotice::kPublicationSkipped;
    if (const auto confirmed = ConfirmedAtStart(notice)) {
      confirmed_ = confirmed;
    }
    LogNotice(notice);
  });
  return absl::OkStatus();
}

// The timeout of one query. All calls before the stream starts must fit into the limit of /livez.
Micros PgReplicationSource::timeout() const {
  return std::min<Micros>(config_.connect_timeout, std::chrono::seconds(10));
}

// By address and not by name: a name may resolve to another server the next time.
ConnectionParameters PgReplicationSource::Peer() const {
  ConnectionParameters peer;
  const auto add = [&peer](const char* key, const char* value) {
    if (value != nullptr && *value != '\0') {
      peer.emplace_back(key, value);
    }
  };
  if (connection_) {
    add("host", PQhost(connection_->get()));
    add("hostaddr", PQhostaddr(connection_->get()));  // "" for a Unix socket
    add("port", PQport(connection_->get()));
  }
  return peer;
}

absl::StatusOr<std::optional<SlotInfo>> PgReplicationSource::InspectSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  return ReadSlotInfo(*connection_, config_.slot, timeout());
}

// The role may terminate its own processes: no further privilege is needed. A process that has
// already ended is not an error, and another process that has reused its pid is not terminated.
absl::Status PgReplicationSource::TerminateBackend(int pid) {
  WR_CHECK(connection_.has_value(), "the source is open");
  return connection_
      ->Query(fmt::format("SELECT pg_catalog.pg_terminate_backend(s.active_pid) "
                          "FROM pg_catalog.pg_replication_slots s "
                          "WHERE s.slot_name OPERATOR(pg_catalog.=) {} "
                          "AND s.active_pid OPERATOR(pg_catalog.=) {}",
                          QuoteLiteral(config_.slot), pid),
              timeout())
      .status();
}

// Without FAILOVER, like walrelay setup by default.
absl::Status PgReplicationSource::CreateSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  // No snapshot is needed. The session's lock_timeout bounds the wait for old transactions.
  const absl::Status status =
      connection_
          ->Query(fmt::format("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput NOEXPORT_SNAPSHOT",
                              config_.slot),
                  kOpenTimeout)
          .status();
  return status.ok() ? status : WithCauseAtSlot(*connection_, config_.slot, status, timeout());
}

absl::Status PgReplicationSource::DropSlot() {
  WR_CHECK(connection_.has_value(), "the source is open");
  // Without WAIT, which would drop the slot of a relay that has taken over as soon as it
  // disconnects.
  const absl::Status status =
      connection_->Query(fmt::format("DROP_REPLICATION_SLOT {}", config_.slot), timeout()).status();
  return status.ok() ? status : WithCauseAtSlot(*connection_, config_.slot, status, timeout());
}

// A login event trigger may read catalogs in the server process of the stream, before any command
// of this client. The functions that decode by SQL empty all catalog caches before they return,
// also with an error. With a failover slot, this function would wait for standbys. Therefore its
// textual variant is called, which fails before that, because pgoutput has no textual output. With
// another slot, it reads one record of the WAL and does not advance the slot. Source:
// pg_logical_slot_get_changes_guts() in logicalfuncs.c.
absl::Status PgReplicationSource::EmptyCatalogCaches() {
  const bool fails = failover_;
  const absl::Status status =
      connection_
          ->Query(fmt::format("SELECT FROM pg_catalog.pg_logical_slot_peek{}_changes({}, '0/1', "
                              "NULL, 'proto_version', '1', 'publication_names', {})",
                              fails ? "" : "_binary", QuoteLiteral(config_.slot),
                              QuoteLiteral(QuoteIdentifier(config_.publication))),
                  timeout())
          .status();
  constexpr std::string_view kNotSupported = "0A000";
  return fails && connection_->last_sqlstate() == kNotSupported ? absl::OkStatus() : status;
}

// Protocol version 1: later versions add streaming of open transactions, two-phase commits and
// parallel apply, and nothing that whole transactions need. The server starts at the slot's
// confirmed position if `position` is behind it.
absl::StatusOr<std::optional<Lsn>> PgReplicationSource::Start(Lsn position) {
  WR_CHECK(connection_.has_value(), "the source is open");
  if (login_trigger_) {
    const absl::Status status = EmptyCatalogCaches();
    if (!status.ok()) {
      return WithCauseAtSlot(*connection_, config_.slot, status, timeout());
    }
  }
  confirmed_.reset();
  const auto result = connection_->Query(
      fmt::format(
          "START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names {}{}{})",
          config_.slot, position.ToString(), QuotePublication(config_.publication),
          config_.binary ? ", binary 'true'" : "",
          config_.message_prefixes.empty() ? "" : ", messages 'true'"),
      timeout());
  if (!result.ok()) {
    return WithCauseAtSlot(*connection_, config_.slot, result.status(), timeout());
  }
  if (PQresultStatus(result->get()) != PGRES_COPY_BOTH) {
    return Error(ErrorCode::kNotReplication, "START_REPLICATION did not start a stream");
  }
  stream_.emplace(*connection_);
  incoming_bytes_ = 0;
  WR_RETURN_IF_ERROR(stream_->Start());
  return confirmed_;
}

// The warning precedes the messages that lack rows, so nothing of them is handled after it.
absl::StatusOr<bool> PgReplicationSource::Receive(size_t max_bytes) {
  WR_CHECK(stream_.has_value(), "the source streams");
  auto any = stream_->Receive(max_bytes);
  // Once per message: libpq has room for it now, and has not read the rest of it.
  const uint64_t room = stream_->message_room();
  if (room > incoming_bytes_) {
    WR_RETURN_IF_ERROR(FitsIntoMemory(room, MemoryLimit(), ResidentMemory()));
  }
  incoming_bytes_ = room;
  if (publication_skipped_) {
    return Error(
        ErrorCode::kPublicationSkipped,
        fmt::format("publication \"{}\" did not exist yet at the WAL position being decoded",
                    config_.publication));
  }
  return any;
}

uint64_t PgReplicationSource::incoming_bytes() const {
  return stream_ ? incoming_bytes_ : 0;
}

bool PgReplicationSource::more_has_arrived() const {
  return stream_ && stream_->more_has_arrived();
}

std::span<const std::string_view> PgReplicationSource::pending() const {
  return stream_ ? stream_->pending() : std::span<const std::string_view>();
}

void PgReplicationSource::Consume(size_t count) {
  WR_CHECK(stream_.has_value(), "the source streams");
  stream_->Consume(count);
}

absl::Status PgReplicationSource::SendStatus(const StandbyStatus& status) {
  WR_CHECK(stream_.has_value(), "the source streams");
  const auto bytes = pgoutput::EncodeStandbyStatus(status);
  return stream_->Send({bytes.data(), bytes.size()});
}

absl::Status PgReplicationSource::Flush() {
  WR_CHECK(stream_.has_value(), "the source streams");
  return stream_->Flush();
}

absl::Status PgReplicationSource::Finish(Micros timeout) {
  WR_CHECK(stream_.has_value(), "the source streams");
  return stream_->Finish(timeout);
}

// A walsender whose client disconnects releases the slot when it notices; see
// SlotConnector::FreeSlot().
void PgReplicationSource::Close() {
  stream_.reset();
  connection_.reset();
}

int PgReplicationSource::poll_fd() const {
  return connection_ ? connection_->socket() : -1;
}

bool PgReplicationSource::wants_write() const {
  return stream_ && stream_->wants_write();
}

}  // namespace walrelay

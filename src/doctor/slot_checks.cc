#include "doctor/slot_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "base/quote.h"
#include "base/text.h"
#include "postgres/publication_state.h"
#include "postgres/slot_copies.h"
#include "postgres/slot_query.h"
#include "slot/slot_risk_classifier.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Between the two samples. Long enough for a rate, short enough for a command that an operator
// waits for.
constexpr std::chrono::seconds kPollInterval{1};
// pg_replication_slots.failover exists from version 17 on.
constexpr int kFailoverSlots = 170000;

// From two samples: how long the reserve lasts if the confirmed position does not advance.
void CheckRetained(const SlotSample& before, SlotSample sample, Findings& out) {
  const double seconds = std::chrono::duration<double>(sample.taken - before.taken).count();
  // Bytes per second. 0 if the clock did not advance between the samples.
  const double rate =
      seconds <= 0 ? 0
                   : static_cast<double>(BytesBetween(before.wal_end, sample.wal_end)) / seconds;
  // The same classification as in the relay, so that both report the same risk.
  sample.risk = SlotRiskClassifier().Classify(sample);
  if (const absl::Status risk = RiskStatus(sample); !risk.ok()) {
    out.Problem("slot.retained", risk);
    return;
  }
  std::string text =
      fmt::format("Postgres retains {} of WAL for the slot", HumanBytes(sample.retained_bytes()));
  if (const auto reserve = sample.reserve_bytes()) {
    text += fmt::format("; {} more may be written before {}",
                        HumanBytes(static_cast<uint64_t>(std::max<int64_t>(*reserve, 0))),
                        sample.operator_limit_applies() ? "the slot retains source.max_retained_wal"
                                                        : "the slot is invalidated");
    // An idle server writes almost nothing: dividing by such a rate would give a time without
    // meaning.
    if (rate >= 1) {
      // In seconds; limited to 1e9 below (about 31 years), because a larger number overflows
      // microseconds in 64 bits.
      const auto left = static_cast<double>(*reserve) / rate;
      text += fmt::format(", in {} at {}/s if the confirmed position does not advance",
                          FormatDuration(std::chrono::duration_cast<Micros>(
                              std::chrono::duration<double>(std::min(left, 1e9)))),
                          HumanBytes(static_cast<uint64_t>(std::llround(rate))));
    }
  }
  out.Good("slot.retained", text);
}

void CheckHolder(const OldestTransaction& holder, uint64_t bytes, Findings& out) {
  const std::string text = fmt::format(
      "{} of confirmed WAL is retained because a transaction is open{}: ", HumanBytes(bytes),
      holder.age ? " for " + FormatDuration(*holder.age) : "");
  // A prepared transaction belongs to no server process. Only COMMIT PREPARED or ROLLBACK PREPARED
  // ends it, in its own database.
  if (holder.pid == 0) {
    out.Warn(
        "slot.held_back",
        text + fmt::format("prepared as {} by {}", QuoteLiteral(holder.prepared_as), holder.user),
        fmt::format("COMMIT PREPARED {0}; or ROLLBACK PREPARED {0};  -- in database {1}",
                    QuoteLiteral(holder.prepared_as), QuoteIdentifier(holder.database)));
    return;
  }
  out.Warn("slot.held_back",
           text + fmt::format("server process {}, user {}, application {}, database {}", holder.pid,
                              holder.user, QuoteLiteral(holder.application), holder.database),
           fmt::format("Wait until it ends; or SELECT pg_terminate_backend({});", holder.pid));
}

absl::Status CheckReader(PgConnection& connection, int pid, Micros timeout, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(fmt::format("SELECT usename, application_name, client_addr, "
                                   "backend_start::pg_catalog.timestamptz(0) AS since "
                                   "FROM pg_catalog.pg_stat_activity "
                                   "WHERE pid OPERATOR(pg_catalog.=) {}",
                                   pid),
                       timeout));
  // The process has ended since the sample was taken.
  if (row.rows() == 0) {
    return absl::OkStatus();
  }
  // Every role sees the application's name. client_addr and backend_start are NULL without
  // pg_read_all_stats or membership in the reader's role. The texts are chosen by the client, so
  // they are hostile.
  const std::string_view application = row.Text(0, "application_name");
  const std::string_view since = row.Text(0, "since");
  const std::string_view address = row.Text(0, "client_addr");
  std::string who =
      fmt::format("server process {} reads it: user {}, application {}", pid,
                  Printable(row.Text(0, "usename"), 80), QuoteLiteral(Printable(application, 80)));
  who += address.empty() ? "" : fmt::format(", from {}", address);
  who += since.empty() ? "" : fmt::format(", since {}", since);
  if (application == "walrelay") {
    out.Good("slot.reader", who);
  } else {
    out.Warn("slot.reader", who,
             fmt::format("If it is not yours: SELECT pg_terminate_backend({}); and find out what "
                         "started it.",
                         pid));
  }
  return absl::OkStatus();
}

// The counters are those of pg_stat_replication_slots: since the slot was created, or since they
// were reset. Before Postgres 14 there are none.
void CheckSpill(const SlotSample& sample, const SourceConfig& source, Findings& out) {
  if (!sample.spill) {
    return;
  }
  const SpillCounters& spill = *sample.spill;
  if (spill.spilled_transactions == 0) {
    out.Good("slot.spilled", fmt::format("Postgres decoded {} in memory, and spilled nothing",
                                         HumanBytes(spill.decoded_bytes)));
    return;
  }
  const std::string memory = source.decoding_memory > 0
                                 ? HumanBytes(static_cast<uint64_t>(source.decoding_memory))
                                 : std::string("the server's logical_decoding_work_mem");
  out.Warn(
      "slot.spilled",
      fmt::format("Postgres spilled {} transaction{} ({}) to disk while decoding, of {} "
                  "decoded; source.decoding_memory: {}",
                  spill.spilled_transactions, spill.spilled_transactions == 1 ? "" : "s",
                  HumanBytes(spill.spilled_bytes), HumanBytes(spill.decoded_bytes), memory),
      "Set source.decoding_memory above the size of ordinary transactions, for example "
      "\"256MiB\", and restart walrelay; the server may use that much memory for each reader.");
}

// A standby that is only behind is not reported: each is, for a moment, at each commit.
absl::Status CheckAwaitedStandbys(PgConnection& connection, const SlotSample& sample,
                                  Micros timeout, Findings& out) {
  if (!sample.row.failover) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const std::vector<AwaitedStandby> standbys,
                      ReadAwaitedStandbys(connection, Lsn(), timeout));
  for (const AwaitedStandby& standby : standbys) {
    out.Problem("slot.awaited_standbys",
                Error(ErrorCode::kStandbyAwaited,
                      fmt::format("synchronized_standby_slots names slot {}, which {}",
                                  Printable(standby.slot, 80), standby.state)));
  }
  return absl::OkStatus();
}

// Physical standbys are not connected to a database.
absl::Status CheckFailover(PgConnection& connection, const SourceConfig& source, Findings& out) {
  // The query names the column only where it exists: an unknown column is an error when the query
  // is parsed.
  const bool has_column = connection.server_version_num() >= kFailoverSlots;
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format("SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication r "
                      "JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) r.pid "
                      "WHERE a.datid IS NULL) AS standbys, {} AS failover "
                      "FROM pg_catalog.pg_replication_slots "
                      "WHERE slot_name OPERATOR(pg_catalog.=) {}",
                      has_column ? "failover" : "false", QuoteLiteral(source.slot)),
          source.connect_timeout));
  if (row.rows() == 0 || row.Int(0, "standbys") == 0 || row.Bool(0, "failover")) {
    return absl::OkStatus();
  }
  const std::string text = fmt::format(
      "{} standby server{}: the slot would not survive a failover, and events not published by "
      "then would be missing",
      row.Int(0, "standbys"), row.Int(0, "standbys") == 1 ? "" : "s");
  out.Warn("slot.failover", text,
           has_column
               ? fmt::format("With walrelay stopped, on a replication connection (psql "
                             "\"replication=database …\"): ALTER_REPLICATION_SLOT {} (FAILOVER "
                             "true);  and sync_replication_slots = on on the standby",
                             source.slot)
               : "Postgres 17 and later can keep slots on standbys (walrelay setup --failover).");
  return absl::OkStatus();
}

// A failover slot needs a copy on each standby of the DSN that survives its promotion.
absl::Status CheckCopies(const SourceConfig& source, Findings& out) {
  WR_ASSIGN_OR_RETURN(const std::vector<SlotCopy> copies, ReadSlotCopies(source, -1));
  for (const SlotCopy& copy : copies) {
    if (!copy.unreachable.ok()) {
      out.Warn("slot.failover",
               fmt::format("host {} of source.dsn cannot be checked: {}", copy.host,
                           MessageOf(copy.unreachable)),
               "Start it, or remove it from source.dsn: after a failover to it, walrelay cannot "
               "continue.");
    }
    for (const SlotCopyProblem& problem : copy.problems) {
      out.Warn("slot.failover",
               fmt::format("standby {}: {}: events that are not published by then would be missing "
                           "after a failover to it",
                           copy.host, problem.text),
               fmt::format("On that server: {}", problem.remedy));
    }
    if (copy.survives()) {
      out.Good("slot.failover",
               fmt::format("standby {} has a synchronized copy of slot {}, confirmed up to {}",
                           copy.host, source.slot, copy.confirmed.ToString()));
    }
  }
  return absl::OkStatus();
}

// On such a slot Postgres sends prepared transactions in messages that walrelay does not request,
// whatever options the client sends. A copy of the slot has two_phase off.
// Source: src/backend/replication/logical/logical.c, CreateDecodingContext; slotfuncs.c,
// copy_replication_slot.
absl::Status CheckTwoPhase(PgConnection& connection, const SourceConfig& source, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format("SELECT s.*, pg_catalog.current_setting('max_prepared_transactions') AS "
                      "prepared FROM pg_catalog.pg_replication_slots s "
                      "WHERE s.slot_name OPERATOR(pg_catalog.=) {}",
                      QuoteLiteral(source.slot)),
          source.connect_timeout));
  // two_phase exists from version 14 on. `SELECT s.*` works on all versions, and PgResult treats a
  // missing column as NULL.
  if (row.rows() == 0 || !row.Bool(0, "two_phase")) {
    return absl::OkStatus();
  }
  const std::string text = fmt::format(
      "slot {} was created with two_phase: the first prepared transaction (PREPARE TRANSACTION) "
      "stops the relay (WR-2402)",
      source.slot);
  const std::string remedy = fmt::format(
      "With walrelay stopped: SELECT pg_copy_logical_replication_slot({}, {});  -- the copy has "
      "two_phase off; set source.slot to it, and drop the old slot when the copy works",
      QuoteLiteral(source.slot), QuoteLiteral(source.slot + "_copy"));
  // With max_prepared_transactions = 0 the server rejects PREPARE TRANSACTION, so the relay works
  // until the setting changes.
  if (row.Text(0, "prepared") != "0") {
    out.Problem("slot.two_phase", text, remedy);
  } else {
    out.Warn("slot.two_phase", text + "; max_prepared_transactions is 0, so there are none now",
             remedy);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSlot(PgConnection& connection, const SourceConfig& source, Findings& out) {
  const Micros timeout = source.connect_timeout;
  WR_ASSIGN_OR_RETURN(const SlotSample before, ReadSlotSample(connection, source, timeout));
  if (!before.exists) {
    return absl::OkStatus();  // slot.usable already reported it
  }
  // A rate needs two samples: Postgres has only positions.
  std::this_thread::sleep_for(kPollInterval);
  WR_ASSIGN_OR_RETURN(const SlotSample sample, ReadSlotSample(connection, source, timeout));
  if (!sample.exists) {
    return absl::OkStatus();
  }
  CheckRetained(before, sample, out);
  if (sample.held_by) {
    CheckHolder(*sample.held_by, sample.held_bytes(), out);
  }
  if (sample.row.active) {
    WR_RETURN_IF_ERROR(CheckReader(connection, sample.row.active_pid, timeout, out));
  } else {
    out.Warn("slot.reader",
             sample.row.inactive_since
                 ? fmt::format("no process has read the slot since {}: retained WAL grows",
                               Rfc3339(*sample.row.inactive_since))
                 : "no process reads the slot: retained WAL grows",
             "Start walrelay run.");
  }
  CheckSpill(sample, source, out);
  WR_RETURN_IF_ERROR(CheckTwoPhase(connection, source, out));
  WR_RETURN_IF_ERROR(CheckAwaitedStandbys(connection, sample, timeout, out));
  if (sample.row.failover) {
    WR_RETURN_IF_ERROR(CheckCopies(source, out));
  }
  return CheckFailover(connection, source, out);
}

absl::Status CheckAges(PgConnection& connection, const SourceConfig& source, Findings& out) {
  const Micros timeout = source.connect_timeout;
  WR_ASSIGN_OR_RETURN(const PublicationState state,
                      ReadPublicationState(connection, source, Lsn(), timeout));
  WR_ASSIGN_OR_RETURN(const RecentChanges recent,
                      ReadRecentChanges(connection, source.slot, state.identity, timeout));
  if (recent.publication) {
    out.Warn(
        "publication.older_than_slot",
        fmt::format("publication {} was created or changed lately, and nothing shows that this "
                    "was before the position of slot {}: otherwise decoding fails (WR-2306), "
                    "or skips rows on Postgres 18",
                    source.publication, source.slot),
        fmt::format("Nothing if only its settings were changed. If the slot is new and has "
                    "relayed nothing: SELECT pg_drop_replication_slot({}); and walrelay setup "
                    "--apply",
                    QuoteLiteral(source.slot)));
  }
  for (const RecentMember& table : recent.tables) {
    out.Warn("publication.older_than_slot",
             fmt::format("table {} was added to publication {} lately, and nothing shows that this "
                         "was before the position of slot {}: rows from before that are not in "
                         "the stream, and are never published",
                         table.name, source.publication, source.slot),
             fmt::format("These rows have an xmin before {}. Publish those that are missing in "
                         "their topics: walrelay republish --id ID",
                         table.joined_by));
  }
  return absl::OkStatus();
}

}  // namespace walrelay

#include "doctor/diagnosis.h"

#include <optional>

#include "doctor/backlog_checks.h"
#include "doctor/message_checks.h"
#include "doctor/process_checks.h"
#include "doctor/prune_checks.h"
#include "doctor/server_checks.h"
#include "doctor/slot_checks.h"
#include "doctor/source_checks.h"
#include "doctor/table_checks.h"
#include "doctor/tls_checks.h"
#include "doctor/visibility_checks.h"
#include "postgres/session.h"
#include "prune/prune_pass.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// Two connections, like the relay's: pg_hba.conf treats logical replication as an ordinary
// connection to the database, but the role's attribute REPLICATION and a free walsender are needed
// only for the first. With one, the other's failure would remain unseen until the start. Returns
// what the checks have read of server and slot.
std::optional<SourceInfo> DiagnosePostgres(const Config& config, Depth depth, Findings& out) {
  std::optional<SourceInfo> source;
  auto walsender = ConnectTo(config.source, ConnectionPurpose::kReplication);
  if (!walsender.ok()) {
    out.Problem("postgres.connect", WithExactRemedy(walsender.status(), config.source));
    // libpq reports only that the verification failed. A separate handshake without verification
    // reads the certificate and can name its end date.
    if (MessageOf(walsender.status()).find("certificate") != std::string::npos) {
      CheckRefusedPostgresCertificate(config.source, out);
    }
  } else if (auto checked =
                 CheckSource(*walsender, config.source, config.route, config.format, depth, out);
             checked.ok()) {
    source = *std::move(checked);
  } else {
    out.Problem("postgres.query", checked.status());
  }
  auto sql = ConnectTo(config.source);
  if (!sql.ok()) {
    // If neither connection works, postgres.connect already reported the cause.
    if (walsender.ok()) {
      out.Problem("postgres.sql", WithExactRemedy(sql.status(), config.source));
    }
    return source;
  }
  // Each part runs whether or not the others failed: a user wants all findings at once. Only the
  // first error of a query is reported, because a broken connection fails all that follow.
  absl::Status status = CheckServerSettings(*sql, config.source, out);
  status.Update(CheckVisibility(*sql, config.source, out));
  status.Update(CheckAges(*sql, config.source, out));
  if (depth == Depth::kAll) {
    status.Update(CheckServerAndNetwork(*sql, config.source, out));
    CheckPostgresCertificate(*sql, out);
    status.Update(CheckMessageWriters(*sql, config.source, config.route, out));
    status.Update(CheckLatency(*sql, config.source, out));
    status.Update(CheckSlot(*sql, config.source, out));
  }
  if (!status.ok()) {
    out.Problem("postgres.query", status);
  }
  return source;
}

// After the sink: the progress record is the proof of what is published. On a connection of its
// own, because the brokers may have taken half a minute to answer.
std::optional<Micros> DiagnoseTables(const Config& config, const SourceInfo& source,
                                     const std::optional<Progress>& record, Findings& out) {
  auto connection = ConnectTo(config.source);
  absl::Status status = connection.status();
  if (status.ok()) {
    const auto oldest = CheckTables(*connection, config.source, source.tables, record, out);
    if (oldest.ok()) {
      return *oldest;
    }
    status = oldest.status();
  }
  out.Problem("postgres.query", status);
  return std::nullopt;
}

void DiagnosePruning(const Config& config, Findings& out) {
  if (config.prune.mode == PruneMode::kOff) {
    return;
  }
  auto connection = ConnectTo(PruneLogin(config.source, config.prune));
  absl::Status status = connection.status();
  if (status.ok()) {
    status = CheckPruning(*connection, config.source, config.prune, out);
  }
  if (!status.ok()) {
    out.Problem("prune.tables", status);
  }
}

}  // namespace

void Diagnose(const Config& config, const DiagnosisOptions& options, Findings& out) {
  const std::optional<SourceInfo> source = DiagnosePostgres(config, options.depth, out);
  if (source) {
    CheckBacklog(config, *source, out);
  }
  const auto sink = MakeSinkDiagnosis(config, out);
  const bool reached = sink->CheckTopics(options.depth);
  std::optional<Progress> record;
  if (reached && config.pipeline.records_progress()) {
    record = sink->CheckProgress(source, options.depth);
  }
  std::optional<Micros> oldest;
  if (options.depth == Depth::kAll && source) {
    oldest = DiagnoseTables(config, *source, record, out);
    DiagnosePruning(config, out);
  }
  if (options.depth == Depth::kAll && reached) {
    sink->CheckRetention(oldest);
  }
  if (reached && config.pipeline.exactly_once()) {
    sink->CheckTransactions(source ? source->server.database : "", options.depth);
  }
  // The only check that writes, and only to the topic that the operator names.
  if (!options.write_probe.empty()) {
    sink->CheckWriting(options.write_probe);
  }
  if (options.depth == Depth::kAll) {
    CheckCertificateFiles(config.source, config.kafka, out);
    CheckProcess(config, *sink, out);
  }
}

}  // namespace walrelay

#include "dryrun/dry_run.h"

#include <fmt/format.h>

#include <thread>

#include "base/check.h"
#include "base/system_clock.h"
#include "metrics/metrics.h"
#include "postgres/catalog_queries.h"
#include "postgres/outbox_tables.h"
#include "postgres/row_reader.h"
#include "postgres/session.h"
#include "postgres/source_identity.h"
#include "postgres/temporary_slot.h"
#include "publish/row_step.h"
#include "relay/pipeline.h"
#include "stream/start_position.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Bounds the memory for one query's result. The function always completes a transaction, so a large
// transaction exceeds it.
constexpr size_t kMessagesAtOnce = 1000;
constexpr std::chrono::milliseconds kPollInterval{200};

// The relay's pipeline with a different sink.
class DryRunStream {
 public:
  DryRunStream(const Config& config, Router router, Sink& producer)
      : producer_(producer),
        metrics_(registry_, IdentityOf(config.source)),
        sender_(producer, tracker_, metrics_, clock_,
                [this](const Delivery&, WallTime) { ++records_; }),
        pipeline_(config, std::move(router), tracker_, sender_, metrics_) {}

  void Start(std::span<const TableInfo> tables) { pipeline_.StartSession(tables); }
  uint64_t records() const { return records_; }

  absl::Status Handle(std::string_view message) {
    const auto outcome = pipeline_.Handle({.sent = {}, .payload = message});
    // An error that would block the relay ends the command, with the name of the row.
    if (const auto& row = pipeline_.blocked_row(); !outcome.ok() && row) {
      return Annotate(outcome.status(), fmt::format("the relay would be blocked by row {} of {}",
                                                    row->row, row->table));
    }
    WR_RETURN_IF_ERROR(outcome.status());
    WR_CHECK(*outcome == Wait::kNone, "a sink that prints takes every record");
    // Every record is acknowledged at once, so the window never fills up.
    producer_.Poll(sender_);
    return absl::OkStatus();
  }

 private:
  Sink& producer_;
  AckTracker tracker_;
  MetricsRegistry registry_;
  Metrics metrics_;
  SystemClock clock_;
  RecordSender sender_;
  Pipeline pipeline_;
  uint64_t records_ = 0;
};

// Reports the publication problems that would keep the relay from starting. If the publication hid
// rows, nothing would be printed, without a reason.
absl::Status CheckPublished(PgConnection& connection, const Config& config,
                            std::span<const TableInfo> tables) {
  const SourceConfig& source = config.source;
  WR_RETURN_IF_ERROR(CheckMessages(source, connection.server_version_num()));
  SourceInfo info;
  info.tables.assign(tables.begin(), tables.end());
  WR_ASSIGN_OR_RETURN(info.publication,
                      ReadPublicationInfo(connection, source.publication, source.connect_timeout));
  const auto problems = PublicationProblems(info, source.publication);
  return problems.empty() ? absl::OkStatus() : problems.front();
}

// A dry run gives no row up: the error of one that cannot be published ends it.
class NoAudit final : public RowAudit {
 public:
  bool HasRoom() override { return true; }
  void OnGivenUp(const GivenUpRow&) override { WR_CHECK(false, "the policy is to stop"); }
};

// Reads rows from their tables, which need not be published.
absl::StatusOr<uint64_t> DryRunRows(PgConnection connection, const Config& config, Router router,
                                    const DryRunScope& scope, Sink& producer) {
  WR_ASSIGN_OR_RETURN(RowReader reader,
                      RowReader::Open(std::move(connection), config.source, config.route,
                                      {.ids = scope.ids, .limit = scope.limit}));
  router.StartSession(reader.tables());
  for (const pgoutput::CachedRelation& relation : reader.relations()) {
    router.OnRelation(relation);
  }
  NoAudit audit;
  MetricsRegistry registry;
  Metrics metrics(registry, IdentityOf(config.source));
  RowStep step(
      config, router, [](const absl::Status&) { return OnError::kStop; }, audit, metrics);
  uint64_t records = 0;
  while (true) {
    WR_ASSIGN_OR_RETURN(const std::optional<OutboxRow> row, reader.Next());
    if (!row) {
      return records;
    }
    RowState state;
    WR_ASSIGN_OR_RETURN(const auto offered, step.Offer({.relation = row->relation,
                                                        .values = row->values,
                                                        .commit_time = row->commit_time,
                                                        .position = {}},
                                                       state, [&producer](const Record& record) {
                                                         return producer.Produce(record,
                                                                                 DeliveryToken());
                                                       }));
    WR_CHECK(offered == Wait::kNone, "a sink that prints takes every record");
    ++records;
  }
}

absl::StatusOr<uint64_t> DryRunSlot(PgConnection connection, const Config& config,
                                    std::span<const TableInfo> tables, Router router,
                                    const DryRunScope& scope, Sink& producer) {
  DryRunStream stream(config, std::move(router), producer);
  stream.Start(tables);
  WR_ASSIGN_OR_RETURN(TemporarySlot slot,
                      scope.follow ? TemporarySlot::FromNow(std::move(connection), config.source)
                                   : TemporarySlot::OfSlot(std::move(connection), config.source));
  // Polls, because the SQL functions of logical decoding do not wait for new WAL.
  while (true) {
    WR_ASSIGN_OR_RETURN(const std::vector<std::string> messages, slot.Next(kMessagesAtOnce));
    for (const std::string& message : messages) {
      WR_RETURN_IF_ERROR(stream.Handle(message));
      if (scope.limit > 0 && stream.records() >= scope.limit) {
        return stream.records();
      }
    }
    const bool all = messages.empty() && !scope.follow;
    if (all || (scope.stop_condition && scope.stop_condition())) {
      return stream.records();
    }
    if (messages.empty()) {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

}  // namespace

absl::StatusOr<uint64_t> DryRun(const Config& config, const DryRunScope& scope, Sink& producer) {
  // No run id: it differs at each start, and the comparison ignores this header.
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config, /*run_id=*/""));
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  if (!scope.ids.empty()) {
    return DryRunRows(std::move(connection), config, std::move(router), scope, producer);
  }
  WR_ASSIGN_OR_RETURN(const std::vector<TableInfo> tables,
                      ReadTableInfo(connection, config.source.publication, config.source.tables,
                                    config.source.connect_timeout));
  WR_RETURN_IF_ERROR(CheckPublished(connection, config, tables));
  return DryRunSlot(std::move(connection), config, tables, std::move(router), scope, producer);
}

}  // namespace walrelay

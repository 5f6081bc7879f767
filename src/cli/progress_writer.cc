#include "cli/progress_writer.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <utility>

#include "base/quote.h"
#include "base/system_clock.h"
#include "postgres/pg_replication_source.h"
#include "postgres/session.h"
#include "sinks/registry.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The server decodes the WAL up to the position.
constexpr std::chrono::minutes kAdvanceTimeout{30};

absl::Status AdvanceSlot(const SourceConfig& source, Lsn position) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source));
  const absl::Status advanced =
      connection
          .Query(fmt::format("SELECT pg_catalog.pg_replication_slot_advance({}, {})",
                             QuoteLiteral(source.slot), QuoteLiteral(position.ToString())),
                 kAdvanceTimeout)
          .status();
  return Annotate(advanced, "the record is written, but the slot is not advanced to its frontier");
}

}  // namespace

absl::StatusOr<ProgressAddress> ProgressAddressFor(const Config& config) {
  if (!config.pipeline.id.empty()) {
    return ProgressAddressOf(config.source, config.pipeline, config.progress_topic(), "");
  }
  WR_ASSIGN_OR_RETURN(const PgConnection connection, ConnectTo(config.source));
  return ProgressAddressOf(config.source, config.pipeline, config.progress_topic(),
                           connection.database());
}

absl::StatusOr<WrittenProgress> WritePlannedProgress(
    const Config& config, bool force,
    const std::function<absl::StatusOr<Progress>(const ProgressPlanInput&)>& plan) {
  PgReplicationSource source(config.source, -1);
  WR_ASSIGN_OR_RETURN(SourceInfo info, source.Open());
  WR_ASSIGN_OR_RETURN(const ProgressAddress address,
                      ProgressAddressOf(config.source, config.pipeline, config.progress_topic(),
                                        info.server.database));
  const auto sinks = MakeSinkFactory(config);
  const auto topic = sinks->OpenProgress({});
  WR_ASSIGN_OR_RETURN(const ProgressReading old, topic->Read(address));
  // Again: reading the topic takes time, in which a relay may have started.
  WR_ASSIGN_OR_RETURN(info.slot, source.InspectSlot());
  WR_ASSIGN_OR_RETURN(Progress record, plan(ProgressPlanInput{config.source, config.pipeline, info,
                                                              old.record, force}));
  WR_ASSIGN_OR_RETURN(record, WriteAsNewRun(*topic, address, std::move(record)));
  if (record.frontier > info.slot->confirmed_flush_lsn && record.frontier <= info.server.wal_end) {
    source.Close();
    WR_RETURN_IF_ERROR(AdvanceSlot(config.source, record.frontier));
  }
  return WrittenProgress{address.topic, std::move(record)};
}

absl::StatusOr<Progress> WriteAsNewRun(ProgressTopic& topic, const ProgressAddress& address,
                                       Progress record) {
  std::random_device random;
  record.run_id = fmt::format("{:08x}{:08x}", random(), random());
  record.sequence = 1;
  record.written = SystemClock().WallNow();
  WR_RETURN_IF_ERROR(topic.Write(address, record));
  return record;
}

}  // namespace walrelay

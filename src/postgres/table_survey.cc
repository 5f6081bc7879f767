#include "postgres/table_survey.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "outbox/row_classes.h"
#include "postgres/catalog_queries.h"
#include "postgres/slot_query.h"
#include "postgres/table_reader.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kPollInterval{200};

// A record of another server, or one that is ahead of this server's WAL, says nothing about it.
Progress ProofOf(const std::optional<Progress>& record, const SlotSample& sample,
                 const XidReading& reading) {
  const bool usable = record && record->system_id == reading.system_id &&
                      record->timeline == reading.timeline && record->frontier <= sample.wal_end;
  Progress proof =
      usable ? *record : Progress{.system_id = reading.system_id, .timeline = reading.timeline};
  if (sample.exists) {
    proof.frontier = std::max(proof.frontier, sample.row.confirmed_flush_lsn);
  }
  return proof;
}

absl::StatusOr<RowKnowledge> ReadKnowledge(PgConnection& connection, const SourceConfig& source,
                                           const std::optional<Progress>& record, Micros patience,
                                           Micros timeout) {
  WR_ASSIGN_OR_RETURN(SlotSample sample, ReadSlotSample(connection, source, timeout));
  if (!sample.xids) {
    return RowKnowledge{.classes = {}, .as_of = {}, .origin = source.origin};
  }
  XidReading reading = *std::move(sample.xids);
  WR_ASSIGN_OR_RETURN(reading.system_id, ReadSystemId(connection, timeout));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto classes = [&] { return RowClassesOf(ProofOf(record, sample, reading), reading); };
  while (sample.row.active && !classes().all_published &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPollInterval);
    WR_ASSIGN_OR_RETURN(sample, ReadSlotSample(connection, source, timeout));
  }
  return RowKnowledge{
      .classes = classes(), .as_of = reading.horizon.taken, .origin = source.origin};
}

}  // namespace

absl::StatusOr<std::vector<TableReading>> SurveyTables(PgConnection& connection,
                                                       const SourceConfig& source,
                                                       const std::vector<TableInfo>& tables,
                                                       const std::optional<Progress>& record,
                                                       Micros patience, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const RowKnowledge knowledge,
                      ReadKnowledge(connection, source, record, patience, timeout));
  return ReadTables(connection, tables, knowledge, timeout);
}

}  // namespace walrelay

// The decisions of `walrelay recover`: whether a slot has to be replaced, which rows may be
// unpublished, and what the progress record says afterwards.
//
// Pure functions of plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/row_query.h"
#include "publish/record_ages.h"
#include "recover/new_slot.h"
#include "stream/published_xids.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct PipelineConfig;
struct PruneConfig;
struct SourceConfig;

// The rows of the outbox tables to publish again.
enum class RowsSince : uint8_t {
  kHorizon,  // those that the progress record does not prove to be published
  kTime,     // --since
  kId,       // --after-id
  kAll       // --all
};

struct RowsToRecover {
  RowsSince since = RowsSince::kHorizon;
  uint64_t from_xid = 0;  // kHorizon: xmin is this or greater, with its epoch
  // kHorizon: see RowSelection.
  XidStart proven_from;
  WallTime proven_as_of;
  std::string proven_time_column;
  bool attachments_known = true;
  WallTime time;            // kTime: of the time column, this or later
  std::string time_column;  // kTime: "": see RowSelection
  std::string after_id;     // kId: greater than this
  std::string order_by;     // "": see RowSelection
};

// The command line.
struct RecoverOptions {
  RowsToRecover rows;                     // kHorizon: nothing was chosen
  bool compare = true;                    // with what the topics have (--dedupe tail)
  std::optional<WallTime> compare_since;  // from this time on; nullopt: as the evidence says
  uint64_t max_rows = 0;                  // more rows are not published; 0: no limit
  bool accept_deletion = false;           // also of records that Kafka would delete at once
  bool failover = false;                  // the new slot is synchronized to standbys
  bool upgraded = false;                  // the server is what pg_upgrade made of the recorded one
};

// The facts that are read before anything is changed.
struct RecoverEvidence {
  SourceInfo info;
  XidStart next;  // the server's next xid
  std::optional<Progress> record;
  // The slot streams no transaction with a lower xid, epoch included: all of them had ended before
  // the WAL that it retains. 0: no slot exists.
  uint64_t slot_from_xid = 0;
  // Rows that were deleted from the outbox tables since the last reset of statistics.
  uint64_t deleted_rows = 0;
};

struct RecoveryScope {
  // Why a relay cannot continue with the slot as it is. OK: it can, but rows from before the slot
  // may be missing.
  absl::Status problem;
  // Nothing is wrong with the slot: only rows that it does not stream are published.
  bool keeps_slot = false;
  RowsToRecover rows;
  // The topics are compared from this time on; nullopt: from their beginning.
  std::optional<WallTime> compare_since;
  // Rows may have been published before that time: a transaction was open for all the time that the
  // record covers, so rows of transactions after it are not proven.
  bool compares_too_little = false;
  std::optional<PublishedXids> proven;
  bool failover = false;
};

// nullopt: a relay continues from the slot as it is, and no gap is held. Errors: WR-2111 if nothing
// shows what is published, and the operator has not chosen rows; WR-2102 if a process reads the
// slot; WR-2205 for the record of another pipeline; WR-5005 for rows that were chosen although the
// record proves that none is missing, and for a slot that is to become a failover slot although it
// is kept; problems of the publication (WR-23xx), WR-2010 and WR-2104, which a new slot does not
// solve.
absl::StatusOr<std::optional<RecoveryScope>> DecideRecovery(const SourceConfig& source,
                                                            const PipelineConfig& pipeline,
                                                            const PruneConfig& prune,
                                                            const RecoverEvidence& evidence,
                                                            const RecoverOptions& options);

// With a slot that works, the rows of lower xids whose state nothing shows: they may have been lost
// with an earlier slot. 0: the record is that of the first slot, from which nothing was lost.
uint64_t UnprovenBefore(const RecoverEvidence& evidence);

// WR-2111 where the slot works, but no record shows what came before it. `rows`: their number.
absl::Status UnprovenRows(const SourceConfig& source, const PipelineConfig& pipeline,
                          const RecoverEvidence& evidence, uint64_t rows);

// The slot of a scope that keeps it, in place of a new one. REQUIRES: scope.keeps_slot.
NewSlot KeptSlot(const RecoverEvidence& evidence);

// The record after every row of the scope was acknowledged: everything before the new slot's
// position is published. Its generation is the next one, as after an accepted gap: earlier
// positions are not comparable. Without a run, a number or a time of writing.
Progress RecordAfter(const SourceConfig& source, const PipelineConfig& pipeline,
                     const RecoverEvidence& evidence, const RecoveryScope& scope,
                     const NewSlot& slot);

// Rows, by what became of them; of a plan, by what would.
struct RecoveredRows {
  uint64_t rows = 0;
  uint64_t published = 0;
  uint64_t found = 0;             // not published: the topics have their records
  uint64_t skipped = 0;           // by on_error
  uint64_t dead_letters = 0;      // by on_error
  std::optional<RowOrder> order;  // of the first table; nullopt: there is no row
  bool origins_unknown = false;   // see RowReader

  friend bool operator==(const RecoveredRows&, const RecoveredRows&) = default;
};

// The comparison with the records in the topics.
struct ComparedRecords {
  uint64_t records = 0;             // that were read
  uint64_t over_limit = 0;          // of these, not compared
  uint64_t overtaken = 0;           // of rows behind a missing one of the same key
  std::vector<std::string> doubts;  // why records of topics do not count
};

struct RecoverPlan {
  RecoverEvidence evidence;
  RecoverOptions options;
  RecoveryScope scope;
  RecoveredRows rows;
  ComparedRecords compared;
  std::vector<DeletedAtOnce> deleted;  // of the records to publish
  absl::Status retention;              // why it is not known which are
  std::string id;                      // see PlanId()

  bool publishes_for_deletion() const { return !deleted.empty() && !options.accept_deletion; }
  bool exceeds_limit() const { return options.max_rows > 0 && rows.rows > options.max_rows; }
};

// Identifies what an operator agrees to: server, slot, record and choices by their digest, and the
// number of rows: "7f3c9a01-18204".
std::string PlanId(const SourceConfig& source, const PipelineConfig& pipeline,
                   const RecoverPlan& plan);

// Whether `plan` is what the operator agreed to with `id`: nothing but further rows may have come.
bool IsCoveredBy(const RecoverPlan& plan, std::string_view id);

}  // namespace walrelay

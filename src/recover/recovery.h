// Recovery: replaces a slot that cannot be used by a new one, and publishes the rows that no slot
// streams.
//
// The new slot comes first, with a snapshot that it exports: a row is either visible in the
// snapshot, or in the new slot's stream. It is temporary until every row is acknowledged, and the
// progress record says so; then it becomes the pipeline's slot in one step. So a relay never sees a
// slot that is half recovered, and a recovery that is killed leaves nothing behind that retains
// WAL:
//
//   killed before              | the next recovery finds         | and does
//   ---------------------------+---------------------------------+----------------------------------
//   the record is written      | slot and record as before       | everything; records that the
//                              |                                 | topics have are not sent again
//   the old slot is dropped,   | no usable slot; the horizon of  | the same for the rows since that
//   or the new one is copied   | the snapshot in the record      | snapshot
//   the slot has failover      | a slot that works, without      | what the operator applies:
//                              | failover                        | EnableFailover()
//   the end                    | a slot that works               | nothing
//
// Not thread-safe; does no I/O but by its seams.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "publish/record_ages.h"
#include "recover/missing_records.h"
#include "recover/new_slot.h"
#include "recover/published_records.h"
#include "recover/recover_plan.h"
#include "walrelay/progress.h"
#include "walrelay/record.h"

namespace walrelay {

struct PipelineConfig;
struct PruneConfig;
struct SourceConfig;

// The seam to Postgres: server, slots and snapshots.
class RecoverySource {
 public:
  virtual ~RecoverySource() = default;

  // Everything but the progress record.
  virtual absl::StatusOr<RecoverEvidence> ReadEvidence() = 0;
  // Creates a temporary slot and exports its snapshot; both last until ReplaceSlot(), or until this
  // object ends. WR-2102 if another recovery has one.
  virtual absl::StatusOr<NewSlot> CreateSlot() = 0;
  // Drops the pipeline's slot, if it exists, and makes the temporary slot the pipeline's.
  // REQUIRES: CreateSlot() has succeeded.
  virtual absl::Status ReplaceSlot(bool failover) = 0;
  // Makes the pipeline's slot a failover slot. REQUIRES: Postgres 17 or later.
  virtual absl::Status EnableFailover() = 0;
};

// The seam to the rows and their records.
class RecoveryRows {
 public:
  // Whether a record is to be published.
  using Filter = std::function<absl::StatusOr<bool>(const Record&)>;

  virtual ~RecoveryRows() = default;

  // The number of rows of transactions with lower xids, epoch included.
  virtual absl::StatusOr<uint64_t> CountBefore(uint64_t xid) = 0;
  // Reads the rows as of now, and does everything but publish. Errors: those of the rows (WR-3xxx),
  // with the row named, and of the filter.
  virtual absl::StatusOr<RecoveredRows> Count(const RowsToRecover& rows, const Filter& filter) = 0;
  // Reads the rows as of a snapshot, and publishes their records as the relay
  // would, with the header "walrelay.recovered". Returns when all are acknowledged. Errors: also
  // those of Kafka.
  virtual absl::StatusOr<RecoveredRows> Publish(const RowsToRecover& rows,
                                                const std::string& snapshot, std::string_view plan,
                                                const Filter& filter) = 0;
};

// The seam to the progress record.
class RecoveryProgress {
 public:
  virtual ~RecoveryProgress() = default;

  // nullopt: there is none, or progress is not recorded. WR-4025 while a transaction is open,
  // behind which a newer version may be.
  virtual absl::StatusOr<std::optional<Progress>> Read(const std::string& database) = 0;
  // Does nothing where progress is not recorded.
  virtual absl::Status Write(const Progress& record) = 0;
};

class Recovery {
 public:
  // All must outlive it.
  struct Parts {
    const SourceConfig& source_config;
    const PipelineConfig& pipeline_config;
    const PruneConfig& prune_config;
    RecoverySource& source;
    RecoveryRows& rows;
    RecoveryProgress& progress;
    TopicTails& tails;
    // ReadDeletedAtOnce(). Empty: not compared.
    std::function<absl::StatusOr<std::vector<DeletedAtOnce>>(const RecordAges&)> deleted_at_once;
  };

  Recovery(const Parts& parts, RecoverOptions options)
      : parts_(parts), options_(std::move(options)) {}

  // Changes nothing. nullopt: there is nothing to do, as far as the progress record shows. Errors:
  // those of DecideRecovery() and of the rows; WR-2111 for a slot that works without a record, if
  // there are older rows.
  absl::StatusOr<std::optional<RecoverPlan>> Plan();

  // After Plan() has returned nullopt: the slot works, and is not a failover slot although the
  // server has such slots. A recovery that was killed at its last step leaves that.
  bool lacks_failover() const { return lacks_failover_; }
  // After Plan() has returned nullopt: the rows that the record says nothing about, because it
  // begins later: see UnprovenBefore().
  uint64_t unproven_rows() const { return unproven_rows_; }
  // Makes it a failover slot. REQUIRES: lacks_failover().
  absl::Status EnableFailover();

  // Executes the plan that Plan() returned last; returns what was published. Blocks until the slot
  // is replaced, unless it is kept. After an error, the next recovery does what is left.
  absl::StatusOr<RecoveredRows> Apply(const RecoverPlan& plan);

 private:
  absl::Status CountUnproven(const RecoverEvidence& evidence);
  // The last step of a plan that keeps the slot.
  absl::Status EndGap(const RecoverPlan& plan);

  const Parts parts_;
  const RecoverOptions options_;
  // Read for the plan, and used again when it is applied: nothing else publishes in between.
  std::optional<PublishedRecords> published_;
  bool lacks_failover_ = false;
  uint64_t unproven_rows_ = 0;
};

}  // namespace walrelay

// Interprets a progress record: the pipeline that it belongs to, and the memory of a relay that
// reads it.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stream/resume_state.h"
#include "walrelay/progress.h"

namespace walrelay {

struct PipelineConfig;
struct SourceConfig;

// pipeline.id, or "<database>.<slot>".
std::string PipelineIdOf(const SourceConfig& source, const PipelineConfig& pipeline,
                         std::string_view database);

// The transactional id of the pipeline's sink.
std::string TransactionalIdOf(const SourceConfig& source, const PipelineConfig& pipeline,
                              std::string_view database);

// The pipeline's id in `progress_topic` (kafka.progress_topic), or if that is "" in
// "walrelay.progress.<pipeline.id>". Errors: WR-1003 if the name of the database is not legal in a
// topic's name.
absl::StatusOr<ProgressAddress> ProgressAddressOf(const SourceConfig& source,
                                                  const PipelineConfig& pipeline,
                                                  const std::string& progress_topic,
                                                  std::string_view database);

// WR-2205 unless the record is that of this pipeline, database and slot; the database may have been
// renamed. Another server is not checked here: see CheckServer().
absl::Status CheckOwner(const Progress& record, const SourceConfig& source,
                        const PipelineConfig& pipeline, const ServerInfo& server);

// WR-2208 if a relay of another server has written the record within the last half minute: it uses
// the same pipeline.id. `run_id`: of the caller, whose own records do not count; "": none.
absl::Status CheckUnused(const Progress& record, const ServerInfo& server, std::string_view run_id);

// Whether a record of another pipeline belongs to this server's slot, in the same database or one
// of an earlier name: then it says what was published from the slot.
bool IsOfSlot(const Progress& record, const SourceConfig& source, const ServerInfo& server);

// The first of these records that belongs to this slot; nullopt: none.
std::optional<Progress> OfSlot(const std::vector<Progress>& records, const SourceConfig& source,
                               const ServerInfo& server);

// Whether both are the same version of a record.
bool IsSameVersion(const Progress& one, const Progress& other);

// Every transaction with a smaller xid had ended in WAL before the frontier. 0: unknown.

// The publication of this name as the record has it; nullopt: it has another one, or none.
std::optional<PublicationState> PublicationOf(const Progress& record, std::string_view name);

// Returns the memory of a relay that has published everything in the record.
ResumeState ResumeStateOf(const Progress& record);

// Makes the record one of what `memory` says is published. It leaves what it says of xids.
void SetPositions(Progress& record, const ResumeState& memory);

// The record of a position that has no record yet: everything before `info`'s confirmed position
// counts as published. Without a transaction, a run or a time. REQUIRES: the slot exists.
Progress ProgressFrom(const SourceConfig& source, const PipelineConfig& pipeline,
                      const SourceInfo& info);

}  // namespace walrelay

// The runner of a pipeline that streams from a replication slot.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runner/pipeline_runner.h"

namespace walrelay {

// Assembles the replication source, the relay with its event loop, and the threads beside it: the
// control socket, the sampler of the slot, the watch of its copies, and pruning. A RunnerMaker.
// `parts.handover` of another kind of runner is ignored.
absl::StatusOr<std::unique_ptr<PipelineRunner>> MakeWalRunner(const PipelineHost& host,
                                                              RunnerParts parts);

}  // namespace walrelay

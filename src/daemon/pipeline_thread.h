// PipelineThread: one run of a pipeline, on a thread of its own.
//
// Pipelines of one process share the metrics registry, the log and the HTTP listener, and nothing
// else: a failure of one does not reach another. The thread knows its pipeline by the interface
// PipelineRunner only.
//
// Threads: the runner has this thread, and those that it starts itself.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "daemon/running_pipeline.h"
#include "runner/pipeline_runner.h"

namespace walrelay {

// Makes the runner, and starts its thread. Errors: those of `make`; no thread runs then.
absl::StatusOr<std::unique_ptr<RunningPipeline>> StartPipelineThread(const PipelineHost& host,
                                                                     const RunnerMaker& make,
                                                                     PipelineStart start);

}  // namespace walrelay

// PipelineThread: one relay with its connections, on a thread of its own.
//
// It creates the components of a pipeline (source, router, producer, relay, sampler, control
// socket) and runs the relay's event loop. Pipelines of one process share the metrics registry, the
// log and the HTTP listener, and nothing else: a failure of one does not reach another.
//
// Threads: the relay has a thread, the sampler and the control socket one each, and every Kafka
// client its own.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "daemon/running_pipeline.h"
#include "relay/relay.h"
#include "walrelay/clock.h"

namespace walrelay {

// The parts that the pipelines of a process share. The references must outlive the pipelines.
struct PipelineHost {
  const Clock& clock;
  // Called for each acknowledged event, on the thread of its pipeline. May be empty.
  Relay::DeliveryObserver observer;
  // The delay of the first sample of the slots. Where many pipelines start at a time, they wait for
  // the CPU of the server, and the first sample of a connection needs as much of it as a start.
  Micros first_sample{0};
};

// Errors: an invalid configuration; no thread runs then.
absl::StatusOr<std::unique_ptr<RunningPipeline>> StartPipelineThread(const PipelineHost& host,
                                                                     PipelineStart start);

}  // namespace walrelay

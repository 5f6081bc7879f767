// Daemon: the process of `walrelay run`: its pipelines, signals, HTTP listener and control socket.
//
//   SIGTERM, SIGINT   drain all pipelines and exit; a second one exits at once (that of a worker
//                     process is handled by its parent)
//   SIGHUP            read the configuration again, as `walrelay reload` does
//   SIGUSR1           log the status of each pipeline
//   SIGUSR2           switch to log level debug, and back the next time
//
// Threads: RunDaemon() occupies the main thread, which only supervises; each pipeline has threads
// of its own.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/signal_fd.h"
#include "daemon/pipeline_spec.h"
#include "daemon/worker_process.h"
#include "runner/pipeline_runner.h"

namespace walrelay {

// The signals that RunDaemon() handles. Construct it before any other thread starts.
class DaemonSignals : public SignalFd {
 public:
  DaemonSignals();
};

struct DaemonOptions {
  // Reads the configuration again.
  SpecLoader load;
  // Identifies the process to `walrelay reload`: the absolute path of its file or directory.
  std::string config_path;
  // Several pipelines: one that fails is started again and ends no process.
  bool fleet = false;
  // Called for each acknowledged event, on the thread of its pipeline. May be empty.
  DeliveryObserver observer;
  // If this process is a worker. Must outlive the daemon.
  Worker* worker = nullptr;
};

// How a daemon ended.
struct DaemonEnd {
  // OK after a drain, kAborted after a second signal, otherwise the error that ended it.
  absl::Status status;
  // Whether all Kafka clients are closed. If not, their threads use what exit() would destroy.
  bool clients_closed = true;
};

// Runs until it is stopped, or until nothing is left to run. Errors: WR-5002 for a port that
// cannot be used, and those of a pipeline without `fleet`.
DaemonEnd RunDaemon(ProcessSpec spec, const DaemonOptions& options, SignalFd& signals);

}  // namespace walrelay

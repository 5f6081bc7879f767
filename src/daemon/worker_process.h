// The worker process of a fleet, and the parent that starts it again (decision 0050).
//
// The worker has all threads and connections. The parent is forked before anything is loaded, and
// does nothing but this: it passes on signals to the worker, and the worker's notifications to
// systemd, and starts another worker when one ended unexpectedly. That one knows what had failed
// (FailureHistory). The parent ends with the exit code of a worker that ended by itself.
//
// The two share a socket: signals one way, messages the other way. A worker ignores the signals
// that others send to it, because a service manager signals all processes of a service. It never
// outlives its parent (PR_SET_PDEATHSIG).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/signal_fd.h"
#include "base/unique_fd.h"
#include "daemon/failure_history.h"
#include "status/systemd_notifier.h"
#include "walrelay/error.h"

namespace walrelay {

// Connects the worker with its parent. Used on the worker's main thread.
class Worker {
 public:
  Worker(UniqueFd parent, SystemdNotifier manager, FailureHistory failures);

  // Those that the parent receives, but a second SIGTERM or SIGINT, with which the parent ends the
  // worker.
  SignalFd& signals() { return signals_; }
  // Systemd accepts notifications of the main process only.
  SystemdNotifier notifier() const;
  const FailureHistory& failures() const { return failures_; }
  // An isolated pipeline is started again, because an operator asked for it.
  void Release(const PipelineIdentity& pipeline) const;

 private:
  SignalFd signals_;
  const SystemdNotifier manager_;
  const FailureHistory failures_;
};

// Returns twice: in each worker what `body` returns, with which the worker must exit; in the parent
// the exit code of the last worker, 75 after a second SIGTERM or SIGINT, WR-5012 if the workers
// fail, or WR-5013. REQUIRES: the process has one thread.
absl::StatusOr<ExitCode> RunInWorker(const std::function<ExitCode(Worker&)>& body);

}  // namespace walrelay

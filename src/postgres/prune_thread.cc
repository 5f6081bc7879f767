#include "postgres/prune_thread.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "postgres/catalog_queries.h"
#include "postgres/pruner.h"
#include "postgres/session.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kPassTimeout{10};

absl::Status Unproven(std::string_view why) {
  return Error(ErrorCode::kPruneUnproven, why);
}

}  // namespace

SourceConfig PruneLogin(const Config& config) {
  SourceConfig login = config.source;
  if (!config.prune.dsn.empty()) {
    login.dsn = config.prune.dsn;
    login.password = Secret();
    login.password_file = config.prune.password_file;
    login.password_command.clear();
  }
  return login;
}

// The stream runs on the server of the proof, so that has all of the WAL that was read. The
// statements that prune compare the server again.
std::optional<PruneProof> ProofForPruning(const std::optional<PublishedProof>& published,
                                          const SourceConfig& source) {
  if (!published || !published->streaming) {
    return std::nullopt;
  }
  const Progress& progress = published->progress;
  const auto xids = PublishedXidsOf(progress, {.system_id = progress.system_id,
                                               .timeline = progress.timeline,
                                               .ancestors = progress.ancestors,
                                               .wal_end = progress.frontier});
  return xids ? std::optional(PruneProof{.xids = *xids,
                                         .timeline = progress.timeline,
                                         .backend_pid = published->backend_pid,
                                         .slot = source.slot})
              : std::nullopt;
}

PruneThread::PruneThread(const Config& config, const Clock& clock, Metrics& metrics,
                         Callbacks callbacks)
    : config_(config),
      clock_(clock),
      metrics_(metrics),
      callbacks_(std::move(callbacks)),
      stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (config_.prune.mode != PruneMode::kOff) {
    thread_ = std::thread(InLogScope([this] { Run(); }));
  }
}

PruneThread::~PruneThread() {
  eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void PruneThread::Run() {
  *metrics_.pruned_rows;  // exists from now on
  while (Rest(config_.prune.interval)) {
    const absl::Status status = callbacks_.may_prune() ? Pass() : absl::OkStatus();
    if (absl::IsCancelled(status)) {
      return;
    }
    Report(status);
  }
}

// A connection per pass: none is held while there is nothing to do.
absl::Status PruneThread::Pass() {
  const auto published = callbacks_.published();
  const auto proof = ProofForPruning(published, config_.source);
  if (!proof) {
    return Unproven(published && published->streaming ? "no transaction ids were recorded yet"
                                                      : "walrelay does not stream now");
  }
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(PruneLogin(config_), {.purpose = ConnectionPurpose::kSetup,
                                                        .interrupt_fd = stop_.get()}));
  WR_ASSIGN_OR_RETURN(const std::string system, ReadSystemId(session.connection, kPassTimeout));
  // "" is unknown to this role; the statements recognize the server, too.
  if (!system.empty() && system != published->progress.system_id) {
    return Unproven("the connection reaches another server than the stream");
  }
  Pruner pruner(session.connection, config_, [this](uint64_t pruned, Micros pause) {
    metrics_.pruned_rows->Increment(static_cast<double>(pruned));
    return callbacks_.may_prune() && Rest(pause);
  });
  WR_ASSIGN_OR_RETURN(const std::optional<PruneCount> count, pruner.Run(*proof));
  if (!count) {
    return absl::OkStatus();
  }
  metrics_.prune_unproven_rows->Set(static_cast<double>(count->kept));
  metrics_.prune_timestamp->Set(
      std::chrono::duration<double>(clock_.WallNow().time_since_epoch()).count());
  if (count->pruned > 0 || count->kept != kept_) {
    LogInfo("pruned", "published rows were pruned",
            {{"rows", count->pruned}, {"unproven", count->kept}});
  }
  kept_ = count->kept;
  return absl::OkStatus();
}

// One line for each error that lasts.
void PruneThread::Report(const absl::Status& status) {
  if (!status.ok()) {
    metrics_.prune_errors[ToString(CodeOf(status))].Increment();
    if (reported_ != status) {
      LogStatus(LogLevel::kWarning, "not_pruned", status);
    }
  }
  reported_ = status;
}

bool PruneThread::Rest(Micros duration) const {
  pollfd polled{stop_.get(), POLLIN, 0};
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(duration);
  return ::poll(&polled, 1, static_cast<int>(time.count())) <= 0;
}

}  // namespace walrelay

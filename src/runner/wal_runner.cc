#include "runner/wal_runner.h"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "admin/control_socket.h"
#include "admin/gap_control.h"
#include "admin/proof_control.h"
#include "base/check.h"
#include "base/log.h"
#include "config/routing_digest.h"
#include "postgres/dsn.h"
#include "postgres/pg_replication_source.h"
#include "postgres/pg_snapshot_source.h"
#include "postgres/slot_copy_watch.h"
#include "postgres/slot_sampler.h"
#include "prune/prune_thread.h"
#include "relay/event_loop.h"
#include "relay/relay.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// The relay's thread waits for brokers that send nothing of the record.
constexpr std::chrono::seconds kProgressPatience{10};
constexpr std::chrono::seconds kProgressWriteTimeout{5};
// The greatest age of unconfirmed WAL with which rows are pruned.
constexpr std::chrono::seconds kLongestLag{60};

// A random UUID, as Debezium generates at each start of its task.
std::string NewRunId() {
  // Version 4, variant 1 (RFC 9562): the digit 4 begins the third group, and the two high bits of
  // the fourth are 10.
  std::random_device random;
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", random(), random() & 0xFFFF,
                     random() & 0xFFF, 0x8000 | (random() & 0x3FFF), random() & 0xFFFF, random());
}

// The callbacks run on the sampler's thread. The board has a lock of its own; everything else is
// handed to the event loop, because only its thread may access the relay's state.
SlotSampler::Callbacks MakeCallbacks(StatusBoard& board, EventLoop& loop, const Clock& clock) {
  return {
      .server_shutting_down = [&loop] { loop.Report(EventLoop::ServerEvent::kServerShutdown); },
      .slot_sampled =
          [&board, &loop, &clock](const SlotSample& sample) {
            board.SetSlot(sample, clock.WallNow());
            // Only the relay drops a slot: it must first close its own stream, which uses the
            // slot.
            if (sample.past_budget() && sample.budget->drop_slot) {
              loop.Report(EventLoop::ServerEvent::kRetainedLimit);
            }
            if (sample.past_server_limit()) {
              loop.Report(EventLoop::ServerEvent::kSlotAlmostLost);
            }
          },
      .publication_checked =
          [&board, &clock](const absl::Status& problem) {
            // Logged once when the problem appears, and not at each poll.
            if (!problem.ok() && board.source_problem().ok()) {
              LogStatus(LogLevel::kError, "not_published", problem);
            }
            board.SetSourceProblem(problem, clock.WallNow());
          },
      .publication_seen = [&loop](const PublicationState& look,
                                  MonoTime begun) { loop.Report(look, begun); },
      .xids_read = [&loop](const XidReading& xids, MonoTime begun) { loop.Report(xids, begun); },
      .stream =
          [&board] {
            const RelayFigures figures = board.Read().figures;
            return OwnStream{figures.backend_pid,
                             figures.backend_pid != 0 ? figures.received : Lsn()};
          },
      .tables = {.is_publisher = [&board] { return board.Read().state != RelayState::kStandby; },
                 .published = [&board]() -> std::optional<Progress> {
                   auto proof = board.published();
                   return proof ? std::optional(std::move(proof->progress)) : std::nullopt;
                 },
                 .counted =
                     [&board](std::vector<TableReading> tables) {
                       board.SetTables(std::move(tables));
                     }},
      .sample_failed = [&board](const absl::Status& error) { board.SetSampleFailure(error); }};
}

// Pruning writes WAL, which the slot retains. Without a sample nothing is known of the slot.
PrunePermission MayPrune(const StatusBoard& board) {
  if (board.Read().state == RelayState::kStandby) {
    return PrunePermission::kStandby;
  }
  const std::optional<SlotSample> slot = board.slot();
  const bool healthy = slot && slot->exists && slot->risk == SlotRisk::kNone && slot->lag_age &&
                       *slot->lag_age < kLongestLag;
  return healthy ? PrunePermission::kYes : PrunePermission::kPaused;
}

PruneThread::Callbacks MakePruneCallbacks(StatusBoard& board) {
  return {.published = [&board] { return board.published(); },
          .may_prune = [&board] { return MayPrune(board); },
          .reported =
              [&board](std::optional<PruneStatus> status) { board.SetPruning(std::move(status)); }};
}

// Returns nullptr on failure: then only `walrelay resume` and `walrelay prune` are unavailable.
std::unique_ptr<ControlServer> StartControl(const Config& config, const StatusBoard& board,
                                            EventLoop& loop) {
  auto server = ControlServer::Start(
      ControlPrefix(config.source.slot, DescribeDsnAlone(config.source)),
      [&board, &loop](std::string_view request) {
        if (request == kPublishedRequest) {
          return AnswerPublished(board.published());
        }
        return AnswerControl(request, board,
                             [&loop](std::string id) { loop.AcceptGap(std::move(id)); });
      });
  if (!server.ok()) {
    LogStatus(LogLevel::kWarning, "no_control", server.status());
    return nullptr;
  }
  return *std::move(server);
}

// `delivery_details`: the headers of a delivery are read only if they are printed. The metrics are
// shared, because a client that is being closed may outlive the pipeline.
SinkOptions SinkOptionsFor(std::shared_ptr<Metrics> metrics, bool delivery_details) {
  return {.delivery_details = delivery_details,
          .warn_of_deletion = true,
          .close_in_background = true,
          .on_partitions_changed = [metrics] { metrics->partition_count_changes->Increment(); },
          .on_topic_created = [metrics] { metrics->topics_created->Increment(); }};
}

// A relay's knowledge of its source.
class WalHandover final : public Handover {
 public:
  explicit WalHandover(SourceMemory memory) : memory_(std::move(memory)) {}
  const SourceMemory& memory() const { return memory_; }

 private:
  const SourceMemory memory_;
};

std::optional<SourceMemory> MemoryOf(const Handover* handover) {
  const auto* const known = dynamic_cast<const WalHandover*>(handover);
  return known != nullptr ? std::optional(known->memory()) : std::nullopt;
}

class WalRunner final : public PipelineRunner {
 public:
  WalRunner(const PipelineHost& host, RunnerParts parts, Router router)
      : owned_config_(std::move(parts.config)),
        config_(*owned_config_),
        clock_(host.clock),
        first_sample_(host.first_sample),
        board_(std::move(parts.board)),
        metrics_(std::move(parts.metrics)),
        stop_(parts.stop),
        // A slow Postgres keeps the thread in Open(), where it is still alive. A stop request
        // interrupts a connection attempt, which is the only thing that blocks the thread.
        source_(config_.source, stop_.fd(), [this] { board_->Beat(clock_.Now()); }),
        snapshots_(config_.source, source_),
        sinks_(MakeSinkFactory(config_, SinkOptionsFor(metrics_, host.observer != nullptr))),
        // The reader beats as well: reading the record may take long.
        progress_(sinks_->OpenProgress({.stop_fd = stop_.fd(),
                                        .patience = kProgressPatience,
                                        .write_timeout = kProgressWriteTimeout,
                                        .alive = [this] { board_->Beat(clock_.Now()); }})),
        relay_({.config = config_,
                .clock = clock_,
                .source = source_,
                .make_sink = [this](const SinkRequest& request) { return sinks_->Make(request); },
                .metrics = *metrics_,
                .board = *board_,
                .observer = host.observer,
                .seed = std::random_device()(),
                .snapshots = config_.source.wait_visible ? &snapshots_ : nullptr,
                .progress = progress_.get(),
                .routing = RoutingDigest(config_),
                .memory = MemoryOf(parts.handover.get())},
               std::move(router)),
        loop_(relay_, source_, clock_, stop_) {}

  void Start() override { observers_.emplace(*this); }
  void Turn() override { loop_.Turn(); }
  void Drain() override { relay_.Drain(); }
  bool finished() const override { return relay_.finished(); }
  const absl::Status& result() const override { return relay_.result(); }
  void Stop() override { observers_.reset(); }

  std::shared_ptr<const Handover> handover() const override {
    return std::make_shared<WalHandover>(relay_.memory());
  }
  bool WaitForClients(Micros timeout) override { return sinks_->WaitForClients(timeout); }

 private:
  // Control socket and sampler have threads that call the loop and the board.
  struct Observers {
    explicit Observers(WalRunner& runner)
        : control(StartControl(runner.config_, *runner.board_, runner.loop_)),
          sampler(runner.config_.source, runner.config_.metrics, runner.clock_, *runner.metrics_,
                  MakeCallbacks(*runner.board_, runner.loop_, runner.clock_), runner.first_sample_),
          copies(runner.config_.source, runner.config_.metrics, *runner.metrics_,
                 [board = runner.board_](std::vector<SlotCopy> read) {
                   board->SetSlotCopies(std::move(read));
                 }),
          pruning(runner.config_.source, runner.config_.prune, runner.clock_, *runner.metrics_,
                  MakePruneCallbacks(*runner.board_)) {}

    const std::unique_ptr<ControlServer> control;
    const SlotSampler sampler;
    const SlotCopyWatch copies;
    const PruneThread pruning;
  };

  // The router refers to it, too.
  const std::shared_ptr<const Config> owned_config_;
  const Config& config_;
  const Clock& clock_;
  const Micros first_sample_;
  const std::shared_ptr<StatusBoard> board_;
  const std::shared_ptr<Metrics> metrics_;
  const StopRequest& stop_;
  PgReplicationSource source_;
  PgSnapshotSource snapshots_;
  const std::unique_ptr<SinkFactory> sinks_;  // before the relay, whose producers it closes
  const std::unique_ptr<ProgressTopic> progress_;
  Relay relay_;
  EventLoop loop_;
  std::optional<Observers> observers_;  // last: its threads use the other members
};

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineRunner>> MakeWalRunner(const PipelineHost& host,
                                                              RunnerParts parts) {
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(*parts.config, NewRunId()));
  return std::make_unique<WalRunner>(host, std::move(parts), std::move(router));
}

}  // namespace walrelay

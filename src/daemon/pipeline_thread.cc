#include "daemon/pipeline_thread.h"

#include <fmt/format.h>

#include <atomic>
#include <random>
#include <thread>

#include "admin/control_socket.h"
#include "admin/gap_control.h"
#include "admin/proof_control.h"
#include "base/check.h"
#include "base/log.h"
#include "base/stop_request.h"
#include "config/routing_digest.h"
#include "kafka/admin/progress_topic.h"
#include "kafka/client/conf.h"
#include "kafka/producer/kafka_producer.h"
#include "metrics/metrics.h"
#include "postgres/connection_parameters.h"
#include "postgres/pg_replication_source.h"
#include "postgres/pg_snapshot_source.h"
#include "postgres/slot_copy_watch.h"
#include "postgres/slot_sampler.h"
#include "prune/prune_thread.h"
#include "relay/event_loop.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// The relay's thread waits for brokers that send nothing of the record.
constexpr std::chrono::seconds kProgressPatience{10};
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

class PipelineThread final : public RunningPipeline {
 public:
  PipelineThread(const PipelineHost& host, PipelineStart start, Router router)
      : name_(std::move(start.name)),
        owned_config_(std::move(start.config)),
        config_(*owned_config_),
        clock_(host.clock),
        first_sample_(host.first_sample),
        board_(std::move(start.board)),
        metrics_(std::move(start.metrics)),
        // A slow Postgres keeps the thread in Open(), where it is still alive. A stop request
        // interrupts a connection attempt, which is the only thing that blocks the thread.
        source_(config_.source, stop_.fd(), [this] { board_->Beat(clock_.Now()); }),
        snapshots_(config_.source, source_),
        // The reader beats as well: reading the record may take long.
        progress_(config_.kafka, stop_.fd(),
                  {.reaper = &reaper_,
                   .patience = kProgressPatience,
                   .alive = [this] { board_->Beat(clock_.Now()); }}),
        relay_({.config = config_,
                .clock = clock_,
                .source = source_,
                .make_producer = MakeFactory(host.observer != nullptr),
                .metrics = *metrics_,
                .board = *board_,
                .observer = host.observer,
                .seed = std::random_device()(),
                .snapshots = config_.source.wait_visible ? &snapshots_ : nullptr,
                .progress = &progress_,
                .routing = RoutingDigest(config_),
                .memory = std::move(start.memory)},
               std::move(router)),
        loop_(relay_, source_, clock_, stop_) {
    metrics_->build_info[Version()].Set(1);
    board_->Beat(clock_.Now());
    thread_ = std::thread([this, identity = start.identity, on_end = std::move(start.on_end)] {
      const LogScope scope(identity);
      Run(on_end);
    });
  }

  ~PipelineThread() override {
    stop_.Request();
    stop_.Request();
    thread_.join();
  }

  void RequestStop() override { stop_.Request(); }
  bool ended() const override { return ended_.load(std::memory_order_acquire); }
  const absl::Status& result() const override {
    WR_CHECK(ended(), "a pipeline that runs has no result");
    return result_;
  }
  SourceMemory memory() const override {
    WR_CHECK(ended(), "only one relay uses the memory");
    return relay_.memory();
  }
  bool WaitForClients(Micros timeout) override {
    WR_CHECK(ended(), "its last client is closed at its end");
    return reaper_.Wait(timeout);
  }

 private:
  // The relay calls the factory for each new producer. The configuration is built each time,
  // because librdkafka takes ownership of it, and password files are read again with it.
  ProducerFactory MakeFactory(bool delivery_details) {
    KafkaProducer::Options options = KafkaProducer::OptionsFor(config_.kafka);
    // The headers of a delivery are read only if they are printed.
    options.delivery_details = delivery_details;
    options.warn_of_deletion = true;
    options.reaper = &reaper_;
    // Shared: a client that is being closed may outlive the pipeline.
    options.on_partitions_changed = [metrics = metrics_] {
      metrics->partition_count_changes->Increment();
    };
    options.on_topic_created = [metrics = metrics_] { metrics->topics_created->Increment(); };
    return [this,
            options](const ProducerRequest& request) -> absl::StatusOr<std::unique_ptr<Producer>> {
      WR_ASSIGN_OR_RETURN(KafkaConf conf,
                          MakeProducerConf(config_.kafka, config_.pipeline, request.max_batch_bytes,
                                           request.transactional_id));
      KafkaProducer::Options own = options;
      own.progress = request.progress;
      own.commit_limit = request.commit_limit;
      return KafkaProducer::Create(std::move(conf), own);
    };
  }

  // The body of the thread. Control socket and sampler have threads that call the loop and the
  // board: they end with this function.
  void Run(const std::function<void()>& on_end) {
    {
      const auto control = StartControl(config_, *board_, loop_);
      const SlotSampler sampler(config_, clock_, *metrics_, MakeCallbacks(*board_, loop_, clock_),
                                first_sample_);
      const SlotCopyWatch copies(config_, *metrics_, [this](std::vector<SlotCopy> read) {
        board_->SetSlotCopies(std::move(read));
      });
      const PruneThread pruning(config_, clock_, *metrics_, MakePruneCallbacks(*board_));
      result_ = loop_.Run();
    }
    ended_.store(true, std::memory_order_release);
    on_end();
  }

  const std::string name_;
  // The router refers to it, too.
  const std::shared_ptr<const Config> owned_config_;
  const Config& config_;
  const Clock& clock_;
  const Micros first_sample_;
  const std::shared_ptr<StatusBoard> board_;
  const std::shared_ptr<Metrics> metrics_;
  Reaper reaper_;  // before the relay, whose producers it closes
  StopRequest stop_;
  PgReplicationSource source_;
  PgSnapshotSource snapshots_;
  KafkaProgressTopic progress_;
  Relay relay_;
  EventLoop loop_;
  absl::Status result_;
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last: starts after all other members are initialized
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunningPipeline>> StartPipelineThread(const PipelineHost& host,
                                                                     PipelineStart start) {
  const Config& config = *start.config;
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config, NewRunId()));
  return std::make_unique<PipelineThread>(host, std::move(start), std::move(router));
}

}  // namespace walrelay

#include "scenario.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "outbox.h"
#include "random.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kHorizon = seconds(20);

struct FaultEntry {
  std::string_view name;
  int weight;
};

constexpr FaultEntry kFaults[] = {
#define WALRELAY_FAULT(name, weight, what) {#name, weight},
#include "faults.def"
#include "walrelay/config.h"
#undef WALRELAY_FAULT
};

FaultKind DrawKind(Random& random) {
  static const int total =
      std::accumulate(std::begin(kFaults), std::end(kFaults), 0,
                      [](int sum, const FaultEntry& entry) { return sum + entry.weight; });
  auto left = static_cast<int>(random.Below(static_cast<uint64_t>(total)));
  size_t kind = 0;
  while (left >= kFaults[kind].weight) {
    left -= kFaults[kind++].weight;
  }
  return static_cast<FaultKind>(kind);
}

template <typename T, size_t size>
T OneOf(Random& random, const std::array<T, size>& choices) {
  return choices[random.Below(size)];
}

// Usually short, occasionally longer than any timeout.
Micros DrawLength(Random& random) {
  const auto draw = random.Below(100);
  if (draw < 60) {
    return random.Between(milliseconds(50), seconds(3));
  }
  if (draw < 90) {
    return random.Between(seconds(3), seconds(20));
  }
  return random.Between(seconds(20), seconds(draw < 98 ? 90 : 400));
}

PlannedTransaction DrawTransaction(Random& random, bool huge_allowed) {
  PlannedTransaction transaction;
  transaction.begin = random.Between(Micros(0), kHorizon);
  transaction.length = random.Chance(80) ? random.Between(Micros(100), milliseconds(50))
                                         : random.Between(milliseconds(50), seconds(4));
  const bool huge = huge_allowed && random.Chance(3);
  transaction.rows = static_cast<uint32_t>(huge ? random.Between(100, 600) : random.Between(1, 6));
  transaction.rolled_back = random.Chance(10);
  transaction.savepoint = random.Chance(15);
  transaction.others = random.Chance(15);
  transaction.mixed = random.Chance(20);
  transaction.asynchronous = random.Chance(15);
  transaction.seed = random.Next();
  return transaction;
}

void DrawConfig(Random& random, Scenario& scenario) {
  Config& config = scenario.config;
  config.pipeline.max_in_flight_records = OneOf<int64_t, 4>(random, {3, 20, 100, 10'000});
  config.pipeline.max_in_flight_bytes =
      OneOf<int64_t, 3>(random, {3'000, 50'000, int64_t{16} << 20});
  config.source.wal_sender_timeout =
      OneOf<Micros, 3>(random, {seconds(30), seconds(10), seconds(0)});
  const OnError policy =
      OneOf<OnError, 3>(random, {OnError::kStop, OnError::kDeadLetter, OnError::kSkip});
  // A row that is too large is too large for a dead letter as well.
  const OnError too_large = policy == OnError::kDeadLetter ? OnError::kSkip : policy;
  config.on_error = {.null_route = policy,
                     .null_key = policy,
                     .topic = policy,
                     .too_large = too_large,
                     .value = policy,
                     .refused = policy,
                     .dead_letter_topic = std::string(kDeadLetterTopic)};
  scenario.flaws = random.Chance(15) ? 5 : 0;
  const bool own_timeout = config.source.wal_sender_timeout.count() > 0;
  scenario.postgres.wal_sender_timeout =
      own_timeout ? config.source.wal_sender_timeout
                  : OneOf<Micros, 3>(random, {seconds(60), seconds(5), seconds(0)});
}

void DrawSurroundings(Random& random, Scenario& scenario) {
  scenario.postgres.version = random.Chance(50) ? 150018 : 170004;
  scenario.postgres.synchronized_standby = scenario.postgres.version >= 170000 && random.Chance(50);
  scenario.producer.queue_limit = random.Chance(20) ? 5 : 100'000;
  scenario.producer.batch_records = OneOf<size_t, 3>(random, {1, 5, 50});
  scenario.producer.batches_under_way = OneOf<size_t, 3>(random, {1, 3, 5});
  scenario.network_latency = random.Between(Micros(100), milliseconds(5));
  scenario.network_room = OneOf<size_t, 3>(random, {1'000, 8'000, 200'000});
  scenario.keys = static_cast<int>(OneOf<int64_t, 3>(random, {2, 8, 30}));
  scenario.slot_exists = !random.Chance(5);
  scenario.config.source.create_slot = !scenario.slot_exists || random.Chance(20);
  scenario.sampler = random.Chance(70);
  scenario.second_relay = random.Chance(20);
  scenario.topics_exist = !random.Chance(10);
}

// The operator's limit, and what the relay does when it is reached. Uses its own random generator,
// so that the rest of the history does not depend on it.
void DrawLimit(Scenario& scenario) {
  Random random(scenario.seed ^ 0x6C696D6974);
  SourceConfig& source = scenario.config.source;
  if (source.create_slot || !random.Chance(20)) {
    return;
  }
  source.max_retained_wal = OneOf<int64_t, 3>(random, {1'500, 6'000, 30'000});
  source.on_retained_limit =
      random.Chance(70) ? OnRetainedLimit::kDropSlot : OnRetainedLimit::kAlert;
}

// source.wait_visible and the server settings it depends on. Uses its own random generator, as
// above.
void DrawVisibility(Scenario& scenario) {
  Random random(scenario.seed ^ 0x76697369626C65);
  scenario.postgres.visibility_seed = random.Next();
  scenario.config.source.wait_visible = random.Chance(30);
  scenario.postgres.synchronous_standby = scenario.config.source.wait_visible &&
                                          !scenario.postgres.synchronized_standby &&
                                          random.Chance(40);
  constexpr uint64_t kEpoch = uint64_t{1} << 32;
  scenario.postgres.first_xid =
      OneOf<uint64_t, 4>(random, {1'000, kEpoch - 10, 5 * kEpoch + 700, kEpoch / 2 - 5});
}

// The standby in synchronized_standby_slots stops receiving, often for longer than the walsender
// may be silent without a named reason. Uses its own random generator, as above.
void DrawStandby(Scenario& scenario) {
  Random random(scenario.seed ^ 0x7374616E646279);
  if (!scenario.postgres.synchronized_standby || !random.Chance(25)) {
    return;
  }
  scenario.faults.push_back({.kind = FaultKind::kHoldStandby,
                             .at = random.Between(milliseconds(1), kHorizon),
                             .length = random.Chance(50)
                                           ? random.Between(milliseconds(50), seconds(20))
                                           : random.Between(seconds(40), seconds(150))});
}

// Whether the server may have an older state.
bool HasOlderServer(const Scenario& scenario) {
  return std::any_of(scenario.faults.begin(), scenario.faults.end(), [](const Fault& fault) {
    return fault.kind == FaultKind::kRestore || fault.kind == FaultKind::kRestoreUnseen ||
           fault.kind == FaultKind::kRestoreAndGrow || fault.kind == FaultKind::kAnotherSystem;
  });
}

// One or two faults, one behind the other; `draw` draws all but their times.
template <typename Draw>
void AddInTurn(Scenario& scenario, Random& random, const Draw& draw) {
  const auto count = random.Between(1, 2);
  Micros at{0};
  for (int64_t i = 0; i < count; ++i) {
    at += random.Between(milliseconds(1), kHorizon / 2);
    Fault fault = draw();
    fault.at = at;
    scenario.faults.push_back(fault);
    at += fault.length + milliseconds(1);
  }
}

// A leaf of the outbox is unlogged for a while, or for a moment. Not with faults after which the
// server has an older catalog. Uses its own random generator, as above.
void DrawLeaf(Scenario& scenario) {
  Random random(scenario.seed ^ 0x6C656166);
  if (HasOlderServer(scenario) || !random.Chance(10)) {
    return;
  }
  AddInTurn(scenario, random, [&random] {
    return Fault{.kind = FaultKind::kUnlogLeaf,
                 .length = random.Chance(40) ? random.Between(milliseconds(1), milliseconds(900))
                                             : random.Between(seconds(1), seconds(50))};
  });
}

// Whether the relay waits for the operator's decision about a gap or exits. Uses its own random
// generator, as above.
void DrawGapPolicy(Scenario& scenario) {
  Random random(scenario.seed ^ 0x676170);
  scenario.config.source.on_gap = random.Chance(30) ? OnGap::kExit : OnGap::kHold;
}

// Changes of the configuration. A quarter of the histories has some: at any time, while the relay
// starts, and in the time after another fault, when a gap is held or a connection is down. Uses its
// own random generator, as above.
void DrawReplacements(Scenario& scenario) {
  Random random(scenario.seed ^ 0x7265706C616365);
  if (!random.Chance(25)) {
    return;
  }
  const size_t others = scenario.faults.size();
  const auto count = random.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    Micros at = random.Between(milliseconds(1), kHorizon);
    if (others > 0 && random.Chance(60)) {
      at = scenario.faults[random.Below(others)].at + random.Between(milliseconds(1), seconds(12));
    } else if (random.Chance(20)) {
      at = random.Between(milliseconds(1), milliseconds(30));
    }
    // Usually the successor starts at once.
    const Micros pause =
        random.Chance(70) ? Micros(0) : random.Between(milliseconds(1), seconds(4));
    const uint32_t target = scenario.second_relay ? static_cast<uint32_t>(random.Below(2)) : 0;
    scenario.faults.push_back(
        {.kind = FaultKind::kReplace, .at = at, .length = pause, .amount = target});
    if (random.Chance(20)) {
      // Changed again, while the predecessor drains or the successor starts.
      scenario.faults.push_back({.kind = FaultKind::kReplace,
                                 .at = at + random.Between(Micros(100), milliseconds(20)),
                                 .amount = target});
    }
  }
}

// Whether progress is recorded, and what happens while no relay runs. Uses its own random
// generator, as above.
void DrawProgress(Scenario& scenario) {
  Random random(scenario.seed ^ 0x70726F6772657373);
  scenario.config.pipeline.progress = ProgressRecording::kOff;
  if (random.Chance(50)) {
    return;
  }
  scenario.config.pipeline.progress = ProgressRecording::kRequired;
  scenario.config.pipeline.id = kPipelineId;
  const auto count = random.Chance(50) ? 0 : random.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    const auto kind =
        OneOf<FaultKind, 6>(random, {FaultKind::kRestoreUnseen, FaultKind::kRestoreUnseen,
                                     FaultKind::kFailOverUnseen, FaultKind::kAdvanceSlotUnseen,
                                     FaultKind::kDenyProgress, FaultKind::kDenyProgress});
    scenario.faults.push_back({.kind = kind,
                               .at = random.Between(milliseconds(500), kHorizon + seconds(3)),
                               .length = random.Between(milliseconds(50), seconds(8)),
                               .amount = static_cast<uint32_t>(random.Below(1'000))});
  }
}

// Restores that a running relay does not see until it reconnects. Uses its own random generator, as
// above.
void DrawRestores(Scenario& scenario) {
  Random random(scenario.seed ^ 0x726573746F7265);
  if (scenario.config.pipeline.progress == ProgressRecording::kRequired && random.Chance(20)) {
    scenario.faults.push_back({.kind = FaultKind::kRestoreAndGrow,
                               .at = random.Between(milliseconds(500), kHorizon + seconds(3)),
                               .length = random.Between(milliseconds(50), seconds(8)),
                               .amount = static_cast<uint32_t>(random.Below(1'000))});
  }
}

// Whether events that the topics have are sent again. Uses its own random generator, as above.
void DrawResume(Scenario& scenario) {
  Random random(scenario.seed ^ 0x726573756D65);
  if (scenario.config.pipeline.progress != ProgressRecording::kRequired || random.Chance(50)) {
    return;
  }
  scenario.config.pipeline.mode = PipelineMode::kTopics;
  scenario.dead_letter_partitions = static_cast<int>(random.Between(1, 3));
  scenario.kafka_shows_settings = random.Chance(70);
  scenario.most_in_sync -= random.Chance(15) ? 1 : 0;
  scenario.flaws = random.Chance(20) ? 10 : scenario.flaws;
  const auto count = random.Chance(40) ? 0 : random.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    Fault fault{.kind = OneOf<FaultKind, 4>(
                    random, {FaultKind::kChangePartitions, FaultKind::kShrinkReplicas,
                             FaultKind::kAppendForeign, FaultKind::kChangeRouting}),
                .at = random.Between(milliseconds(500), kHorizon + seconds(3)),
                .length = random.Between(milliseconds(50), seconds(8)),
                .amount = static_cast<uint32_t>(random.Below(1'000))};
    // A start shows what was made of it.
    const bool at_a_start = random.Chance(50);
    scenario.faults.push_back(fault);
    if (at_a_start) {
      fault.kind = random.Chance(70) ? FaultKind::kKill : FaultKind::kFence;
      fault.at += random.Between(Micros(-seconds(1)), Micros(seconds(1)));
      fault.at = std::max<Micros>(fault.at, milliseconds(1));
      scenario.faults.push_back(fault);
    }
  }
}

// Whether records are published in transactions, and what happens to these. Uses its own random
// generator, as above.
void DrawTransactions(Scenario& scenario) {
  Random random(scenario.seed ^ 0x7472616E73616374);
  PipelineConfig& pipeline = scenario.config.pipeline;
  if (pipeline.progress != ProgressRecording::kRequired || pipeline.mode != PipelineMode::kSlot ||
      !random.Chance(60)) {
    return;
  }
  pipeline.mode = PipelineMode::kExactlyOnce;
  pipeline.atomic_rows = OneOf<int64_t, 3>(random, {1, 3, 10'000});
  const auto timeout = OneOf<Micros, 3>(random, {seconds(3), seconds(6), seconds(30)});
  scenario.config.kafka.transaction_timeout = timeout;
  const auto count = random.Chance(20) ? 0 : random.Between(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    const auto kind = OneOf<FaultKind, 13>(
        random, {FaultKind::kHoldEndTxn, FaultKind::kLoseEndTxnAnswer, FaultKind::kCoordinatorDown,
                 FaultKind::kExpireTransaction, FaultKind::kClaimElsewhere,
                 FaultKind::kKillInTransaction, FaultKind::kKillInTransaction,
                 FaultKind::kKillInTransaction, FaultKind::kSuspend, FaultKind::kChangeSource,
                 FaultKind::kSlowMarkers, FaultKind::kSlowMarkers, FaultKind::kCutInTransaction});
    const bool lasts = kind == FaultKind::kSuspend || kind == FaultKind::kCoordinatorDown ||
                       kind == FaultKind::kSlowMarkers;
    const auto least = kind == FaultKind::kSuspend ? timeout : milliseconds(20);
    scenario.faults.push_back(
        {.kind = kind,
         .at = random.Between(milliseconds(1), kHorizon + seconds(3)),
         .length = lasts ? random.Between(least, timeout + seconds(5)) : Micros(0),
         .amount = static_cast<uint32_t>(random.Below(1'000))});
  }
}

// A library that hangs. Transactions have a limit of their own. Uses its own random generator, as
// above.
void DrawWedge(Scenario& scenario) {
  Random random(scenario.seed ^ 0x7765646765);
  if (!scenario.config.pipeline.exactly_once() && random.Chance(8)) {
    scenario.faults.push_back({.kind = FaultKind::kWedgeClient,
                               .at = random.Between(milliseconds(1), kHorizon + seconds(3))});
  }
}

// Whether another table is published while a transaction runs that writes to it: a walsender that
// sends it again may send other rows. Uses its own random generator, as above.
void DrawOtherTable(Scenario& scenario) {
  Random random(scenario.seed ^ 0x6F7468657274);
  if (!random.Chance(15)) {
    return;
  }
  PlannedTransaction& running = scenario.transactions[random.Below(scenario.transactions.size())];
  running.mixed = true;
  running.others = running.rolled_back = false;
  running.rows = std::max(running.rows, static_cast<uint32_t>(random.Between(6, 30)));
  running.length = std::max<Micros>(running.length, milliseconds(40));
  const Micros change = running.begin + running.length / 2;
  const Micros commit = running.begin + running.length;
  scenario.faults.push_back({.kind = FaultKind::kPublishOther, .at = change});
  // With exactly-once delivery that fault kills the relay in the middle of the transaction.
  const bool kills = scenario.config.pipeline.exactly_once();
  const int64_t count = kills ? 0 : random.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    running.rows = std::max(running.rows, static_cast<uint32_t>(random.Between(50, 300)));
    const auto kind =
        OneOf<FaultKind, 3>(random, {FaultKind::kCut, FaultKind::kFence, FaultKind::kKill});
    scenario.faults.push_back(
        {.kind = kind, .at = commit + random.Between(Micros(0), milliseconds(100))});
  }
  // `running` is not valid from here on.
  scenario.transactions.push_back({.begin = change + milliseconds(1), .seed = random.Next()});
}

// Whether replication writes to the outbox, too, and whether its rows are events. Uses its own
// random generator, as above.
void DrawOrigins(Scenario& scenario) {
  Random random(scenario.seed ^ 0x6F726967696E);
  if (!random.Chance(15)) {
    return;
  }
  scenario.config.source.origin = random.Chance(80) ? OriginFilter::kNone : OriginFilter::kAny;
  for (PlannedTransaction& transaction : scenario.transactions) {
    transaction.of_origin = random.Chance(40);
  }
}

// Another Kafka cluster. Not with a server that was restored: two changes of one outage can hide
// each other. The simulator has one transaction coordinator. Uses its own random generator, as
// above.
void DrawCluster(Scenario& scenario) {
  Random random(scenario.seed ^ 0x636C7573746572);
  if (HasOlderServer(scenario) || scenario.config.pipeline.exactly_once() || !random.Chance(8)) {
    return;
  }
  AddInTurn(scenario, random, [&random] {
    return Fault{.kind = FaultKind::kAnotherCluster,
                 .length = random.Chance(30) ? random.Between(milliseconds(50), milliseconds(500))
                                             : random.Between(milliseconds(500), seconds(20)),
                 .amount = static_cast<uint32_t>(random.Below(1'000))};
  });
}

// Commit times that brokers refuse. Uses its own random generator, as above.
void DrawClock(Scenario& scenario) {
  Random random(scenario.seed ^ 0x636C6F636B);
  if (random.Chance(6)) {
    scenario.faults.push_back({.kind = FaultKind::kClockAhead,
                               .at = random.Between(milliseconds(1), kHorizon),
                               .length = random.Between(seconds(1), seconds(60))});
  }
}

// Retention that is shorter than the backlog, often around a start. Uses its own random generator,
// as above.
void DrawRetention(Scenario& scenario) {
  Random random(scenario.seed ^ 0x726574656E74);
  if (!random.Chance(8)) {
    return;
  }
  const Micros at = random.Between(milliseconds(1), kHorizon);
  const Micros length = random.Between(milliseconds(100), seconds(15));
  scenario.faults.push_back({.kind = FaultKind::kShortRetention,
                             .at = at,
                             .length = length,
                             .amount = static_cast<uint32_t>(random.Below(1'000))});
  if (random.Chance(60)) {
    scenario.faults.push_back({.kind = random.Chance(70) ? FaultKind::kKill : FaultKind::kFence,
                               .at = at + random.Between(Micros(0), length + seconds(1))});
  }
}

void DrawMessages(Random& random, Scenario& scenario) {
  if (random.Chance(20)) {
    scenario.messages = random.Chance(30) ? 100 : 50;
    scenario.config.source.message_prefixes = {std::string(kMessagePrefix)};
  }
}

void DrawFaults(Random& random, Scenario& scenario) {
  const auto count = random.Chance(10) ? 0 : random.Between(1, 7);
  for (int64_t i = 0; i < count; ++i) {
    scenario.faults.push_back({.kind = DrawKind(random),
                               .at = random.Between(milliseconds(1), kHorizon + seconds(3)),
                               .length = DrawLength(random),
                               .amount = static_cast<uint32_t>(random.Below(1'000))});
    if (scenario.faults.back().kind == FaultKind::kStuckPartition) {
      scenario.faults.back().length = random.Between(seconds(310), seconds(420));
    }
    const Fault& last = scenario.faults.back();
    if (last.kind == FaultKind::kRestore && random.Chance(40)) {
      // A restored backup is often incomplete.
      scenario.faults.push_back({.kind = FaultKind::kPublishNothing,
                                 .at = last.at - milliseconds(1),
                                 .length = random.Between(seconds(1), seconds(10))});
    } else if (last.kind == FaultKind::kHangSnapshots && random.Chance(40)) {
      // A hanging connection often affects the others too; the server times out first.
      scenario.faults.push_back({.kind = FaultKind::kDark,
                                 .at = last.at + random.Between(milliseconds(1), seconds(8)),
                                 .length = random.Between(seconds(1), seconds(10))});
    } else if (last.kind == FaultKind::kInvalidateSlot && random.Chance(60)) {
      // A slot falls behind this far only while the relay is blocked.
      scenario.faults.push_back({.kind = FaultKind::kKafkaDown,
                                 .at = std::max<Micros>(last.at - seconds(8), milliseconds(1)),
                                 .length = random.Between(seconds(15), seconds(40))});
    }
  }
}

}  // namespace

std::string_view NameOf(FaultKind kind) {
  return kFaults[static_cast<size_t>(kind)].name;
}

Micros Scenario::End() const {
  Micros end = seconds(1);
  for (const PlannedTransaction& transaction : transactions) {
    end = std::max(end, transaction.begin + transaction.length);
  }
  for (const Fault& fault : faults) {
    end = std::max(end, fault.at + fault.length);
  }
  return end;
}

Scenario MakePlan(uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  scenario.seed = seed;
  DrawConfig(random, scenario);
  DrawSurroundings(random, scenario);
  const bool huge_allowed = random.Chance(20);
  const auto count = random.Between(3, 40);
  for (int64_t i = 0; i < count; ++i) {
    scenario.transactions.push_back(DrawTransaction(random, huge_allowed));
  }
  DrawFaults(random, scenario);
  DrawLimit(scenario);
  DrawVisibility(scenario);
  DrawGapPolicy(scenario);
  DrawMessages(random, scenario);
  DrawReplacements(scenario);
  DrawProgress(scenario);
  DrawRestores(scenario);
  DrawResume(scenario);
  DrawTransactions(scenario);
  DrawWedge(scenario);
  DrawOtherTable(scenario);
  DrawOrigins(scenario);
  DrawStandby(scenario);
  DrawLeaf(scenario);
  DrawCluster(scenario);
  DrawClock(scenario);
  DrawRetention(scenario);
  return scenario;
}

}  // namespace walrelay::sim

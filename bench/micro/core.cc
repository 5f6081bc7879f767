// The core step by step, and as a whole: nanoseconds, bytes and allocations per event.
//
//   build/bench/bench/walrelay_micro
//   build/bench/bench/walrelay_micro --benchmark_filter=Core --benchmark_repetitions=5
//
// No case may allocate per event, except the cases that expand a payload into a structure. Any
// other allocation is an error, and the program exits with code 1.

#include <benchmark/benchmark.h>

#include "core_on_bytes.h"
#include "fakes/allocation_counter.h"
#include "walrelay/config.h"

namespace walrelay::bench {
namespace {

enum class Allocating { kNever, kAllowed };

bool failed = false;

// Runs `event` repeatedly, after a warm-up that does not count.
template <typename Event>
void Measure(benchmark::State& state, size_t bytes, Allocating allocating, const Event& event) {
  for (int i = 0; i < 1000; ++i) {
    event();
  }
  const uint64_t before = testing::Allocations();
  for ([[maybe_unused]] auto _ : state) {
    event();
  }
  const uint64_t allocations = testing::Allocations() - before;
  const auto events = static_cast<double>(state.iterations());
  state.counters["bytes/event"] = static_cast<double>(bytes);
  state.counters["allocations/event"] = static_cast<double>(allocations) / events;
  state.counters["events/s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  if (allocations > 0 && allocating == Allocating::kNever) {
    failed = true;
    state.SkipWithError("allocates in steady state");
  }
}

FormatConfig Values(Format format, bool expand) {
  FormatConfig config;
  config.value.format = format;
  config.expand_json = expand;
  return config;
}

size_t Payload(const benchmark::State& state) {
  return static_cast<size_t>(state.range(0));
}

// --- single steps ---

void Frame(benchmark::State& state) {
  const std::string message =
      testing::XLogDataMessage(testing::InsertMessage(kOutboxOid, OutboxRow(Payload(state))));
  Measure(state, message.size(), Allocating::kNever,
          [&] { benchmark::DoNotOptimize(pgoutput::DecodeCopyData(message)); });
}

void Decode(benchmark::State& state) {
  const std::string message = testing::InsertMessage(kOutboxOid, OutboxRow(Payload(state)));
  pgoutput::Decoder decoder;
  Measure(state, message.size(), Allocating::kNever,
          [&] { benchmark::DoNotOptimize(decoder.Decode(message)); });
}

// Measures Route() alone: the router knows the table, and the row is already decoded.
void RouteAs(benchmark::State& state, const FormatConfig& format, Allocating allocating) {
  const Config config;
  auto router = *Router::Create(config.source, config.route, format);
  pgoutput::Decoder decoder;
  pgoutput::RelationCache relations;
  const TableInfo outbox{.schema = "public", .name = "outbox", .oid = kOutboxOid};
  router.StartSession({&outbox, 1});
  const std::string table =
      testing::RelationMessage(kOutboxOid, "public", "outbox", OutboxColumns());
  router.OnRelation(relations.Replace(std::get<pgoutput::Relation>(*decoder.Decode(table))));
  const std::string message = testing::InsertMessage(kOutboxOid, OutboxRow(Payload(state)));
  const auto decoded = *decoder.Decode(message);
  const auto& insert = std::get<pgoutput::Insert>(decoded);
  Measure(state, message.size(), allocating,
          [&] { benchmark::DoNotOptimize(router.Route(kOutboxOid, insert.row, WallTime())); });
}

void Route(benchmark::State& state) {
  RouteAs(state, FormatConfig(), Allocating::kNever);
}
void RouteAndEncodeJson(benchmark::State& state) {
  RouteAs(state, Values(Format::kJson, false), Allocating::kNever);
}
void RouteAndExpandJson(benchmark::State& state) {
  RouteAs(state, Values(Format::kJson, true), Allocating::kAllowed);
}

// One-record transactions, of which the last `range(0)` are not acknowledged yet; delivery reports
// arrive in order.
void Acknowledge(benchmark::State& state) {
  AckTracker tracker;
  tracker.Restart(Lsn(1));
  RingQueue<DeliveryToken> in_flight;
  uint64_t lsn = 1;
  Measure(state, 0, Allocating::kNever, [&] {
    tracker.Begin(Lsn(1), 1, WallTime());
    in_flight.push_back(tracker.token());
    tracker.OnProduced(300, {Lsn(1), Lsn(1), 1});
    tracker.Commit(Lsn(++lsn));
    if (in_flight.size() > static_cast<size_t>(state.range(0))) {
      tracker.OnDelivered(in_flight.front(), 300);
      in_flight.pop_front();
    }
  });
  benchmark::DoNotOptimize(tracker.frontier());
}

// --- the whole core ---

// Framing, decoding, order check, routing, accounting and acknowledgement of one-row transactions,
// without I/O: the upper bound of one thread.
void Core(benchmark::State& state) {
  CoreOnBytes core(FormatConfig(), Payload(state));
  Measure(state, core.bytes_per_event(), Allocating::kNever, [&] { core.RelayOne(); });
}
void CoreExpandJson(benchmark::State& state) {
  CoreOnBytes core(Values(Format::kJson, true), Payload(state));
  Measure(state, core.bytes_per_event(), Allocating::kAllowed, [&] { core.RelayOne(); });
}

BENCHMARK(Frame)->Arg(300)->Arg(2000);
BENCHMARK(Decode)->Arg(300)->Arg(2000);
BENCHMARK(Route)->Arg(300)->Arg(2000);
BENCHMARK(RouteAndEncodeJson)->Arg(300)->Arg(2000);
BENCHMARK(RouteAndExpandJson)->Arg(300)->Arg(2000);
BENCHMARK(Acknowledge)->Arg(0)->Arg(500);
BENCHMARK(Core)->Arg(300)->Arg(2000);
BENCHMARK(CoreExpandJson)->Arg(300)->Arg(2000);

}  // namespace

bool Failed() {
  return failed;
}

}  // namespace walrelay::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 64;
  }
  benchmark::RunSpecifiedBenchmarks();
  return walrelay::bench::Failed() ? 1 : 0;
}

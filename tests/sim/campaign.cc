#include "campaign.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "fakes/sole_metrics.h"
#include "shrink.h"
#include "simulation.h"

namespace walrelay::sim {
namespace {

// Threads take seeds in order.
struct Seeds {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
};

// Whether a second run of the scenario, in a new simulation, yields the same history.
bool IsRepeatable(const Scenario& scenario, uint64_t digest) {
  Coverage coverage;
  testing::SoleMetrics metrics;
  Simulation again(scenario, coverage, metrics, /*trace=*/false);
  again.Run();
  return again.digest() == digest;
}

void NoteStatusUpdates(const Metrics& metrics, Coverage& coverage) {
  for (const std::string_view cause : {"requested", "progress", "interval", "ping"}) {
    if (metrics.replication_status_updates.contains(cause)) {
      coverage.Count(cause, "status update ");
    }
  }
}

void RunSome(const CampaignOptions& options, Seeds& seeds, Tally& tally) {
  testing::SoleMetrics metrics;
  while (!seeds.stop) {
    const uint64_t number = seeds.next++;
    if (number >= options.histories) {
      break;
    }
    const Scenario scenario = MakePlan(options.seed + number);
    Simulation simulation(scenario, tally.coverage, metrics, /*trace=*/false);
    std::string violation = simulation.Run();
    if (options.twice && !IsRepeatable(scenario, simulation.digest())) {
      violation = "replay: the same seed yields a different history";
    }
    ++tally.histories;
    tally.events += simulation.events();
    tally.repeats += simulation.repeats();
    tally.digest += simulation.digest() * (2 * scenario.seed + 1);
    if (!violation.empty()) {
      tally.failure = {scenario.seed, violation};
      seeds.stop = true;
    }
  }
  NoteStatusUpdates(metrics, tally.coverage);
}

void Add(const Tally& part, Tally& sum) {
  sum.histories += part.histories;
  sum.events += part.events;
  sum.repeats += part.repeats;
  sum.digest += part.digest;
  sum.coverage.Merge(part.coverage);
  if (part.failure && (!sum.failure || part.failure->seed < sum.failure->seed)) {
    sum.failure = part.failure;
  }
}

}  // namespace

Tally RunCampaign(const CampaignOptions& options) {
  Seeds seeds;
  std::vector<Tally> parts(options.threads);
  std::vector<std::thread> threads;
  for (Tally& part : parts) {
    threads.emplace_back([&options, &seeds, &part] { RunSome(options, seeds, part); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Tally sum;
  for (const Tally& part : parts) {
    Add(part, sum);
  }
  return sum;
}

std::string RunPlan(const Scenario& scenario, bool trace) {
  Coverage coverage;
  testing::SoleMetrics metrics;
  return Simulation(scenario, coverage, metrics, trace).Run();
}

void Explain(const Failure& failure) {
  fmt::print("\nseed {} fails: {}\n", failure.seed, failure.violation);
  const Scenario scenario = Shrink(MakePlan(failure.seed), [&failure](const Scenario& smaller) {
    return RunPlan(smaller, /*trace=*/false).starts_with(failure.invariant());
  });
  fmt::print("\nsmallest scenario that still fails:\n");
  Print(scenario);
  fmt::print("\ntrace of that scenario:\n");
  fmt::print("violation: {}\n", RunPlan(scenario, /*trace=*/true));
}

}  // namespace walrelay::sim

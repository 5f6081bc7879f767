#include "campaign.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "metrics/metrics.h"
#include "shrink.h"
#include "world.h"

namespace walrelay::sim {
namespace {

// Threads take seeds in order.
struct Seeds {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
};

// Whether a second run of the plan, in a new world, yields the same history.
bool IsRepeatable(const Plan& plan, uint64_t digest) {
  Coverage coverage;
  Metrics metrics("sim");
  World again(plan, coverage, metrics, /*trace=*/false);
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
  Metrics metrics("sim");
  while (!seeds.stop) {
    const uint64_t number = seeds.next++;
    if (number >= options.histories) {
      break;
    }
    const Plan plan = MakePlan(options.seed + number);
    World world(plan, tally.coverage, metrics, /*trace=*/false);
    std::string violation = world.Run();
    if (options.twice && !IsRepeatable(plan, world.digest())) {
      violation = "replay: the same seed yields a different history";
    }
    ++tally.histories;
    tally.events += world.events();
    tally.repeats += world.repeats();
    tally.digest += world.digest() * (2 * plan.seed + 1);
    if (!violation.empty()) {
      tally.failure = {plan.seed, violation};
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

std::string RunPlan(const Plan& plan, bool trace) {
  Coverage coverage;
  Metrics metrics("sim");
  return World(plan, coverage, metrics, trace).Run();
}

void Explain(const Failure& failure) {
  fmt::print("\nseed {} fails: {}\n", failure.seed, failure.violation);
  const Plan plan = Shrink(MakePlan(failure.seed), [&failure](const Plan& smaller) {
    return RunPlan(smaller, /*trace=*/false).starts_with(failure.invariant());
  });
  fmt::print("\nsmallest plan that still fails:\n");
  Print(plan);
  fmt::print("\ntrace of that plan:\n");
  fmt::print("violation: {}\n", RunPlan(plan, /*trace=*/true));
}

}  // namespace walrelay::sim

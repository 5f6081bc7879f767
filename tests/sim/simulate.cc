// simulate: runs histories of the relay between a simulated Postgres and a simulated Kafka.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "campaign.h"
#include "mutant_table.h"

namespace walrelay::sim {
namespace {

constexpr std::string_view kUsage =
    R"(simulate [--seed S] [--histories N] [--threads T]  run N histories, starting at seed S
simulate --seed S --trace                          run one history and print its trace
simulate --coverage …                              also fail if a required name is never reached
simulate --twice …                                 run each history twice; both must be identical
simulate --mutants [--histories N]                 each wrong relay must be found: by the seed of its row, or
                                                   within N histories
simulate --mutant NAME --trace                     show how one wrong relay is found

Exits with 0 on success, 1 when a history fails (its scenario is shrunk and its trace printed) or a
wrong relay survives.
)";

struct CommandLine {
  CampaignOptions campaign;
  bool trace = false;
  bool coverage = false;
  bool mutants = false;
  std::string mutant;
};

// nullopt: the arguments are invalid.
std::optional<CommandLine> Parse(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    const auto number = [&](auto& out) {
      ++i;
      return std::from_chars(value.data(), value.data() + value.size(), out).ec == std::errc();
    };
    bool understood = true;
    if (option == "--seed") {
      understood = number(line.campaign.seed);
    } else if (option == "--histories") {
      understood = number(line.campaign.histories);
    } else if (option == "--threads") {
      understood = number(line.campaign.threads) && line.campaign.threads > 0;
    } else if (option == "--twice") {
      line.campaign.twice = true;
    } else if (option == "--trace") {
      line.trace = true;
    } else if (option == "--coverage") {
      line.coverage = true;
    } else if (option == "--mutants") {
      line.mutants = true;
    } else if (option == "--mutant") {
      line.mutants = true;
      line.mutant = argv[++i];
      understood = !value.empty();
    } else {
      understood = false;
    }
    if (!understood) {
      return std::nullopt;
    }
  }
  return line;
}

bool PrintCoverage(const Coverage& coverage) {
  fmt::print("reached, with counts:\n");
  coverage.Print();
  const auto missing = coverage.Missing();
  for (const std::string& name : missing) {
    fmt::print("never reached: {}\n", name);
  }
  return missing.empty();
}

bool RunHistories(const CommandLine& line) {
  const auto begin = std::chrono::steady_clock::now();
  const Tally tally = RunCampaign(line.campaign);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{} histories from seed {}, {} events, {} repetitions, digest {:016x}, {:.1f} s\n",
             tally.histories, line.campaign.seed, tally.events, tally.repeats, tally.digest,
             took.count());
  if (tally.failure) {
    Explain(*tally.failure);
    return false;
  }
  return !line.coverage || PrintCoverage(tally.coverage);
}

bool RunOne(const CommandLine& line) {
  const std::string violation = RunPlan(MakePlan(line.campaign.seed), line.trace);
  if (violation.empty()) {
    fmt::print("seed {}: no violation\n", line.campaign.seed);
    return true;
  }
  Explain({line.campaign.seed, violation});
  return false;
}

bool Run(const CommandLine& line) {
  if (line.mutants) {
    CampaignOptions options = line.campaign;
    options.histories = options.histories > 1 ? options.histories : 50'000;
    return PrintMutantTable(options, line.mutant, line.trace);
  }
  return line.campaign.histories > 1 || line.campaign.twice ? RunHistories(line) : RunOne(line);
}

}  // namespace
}  // namespace walrelay::sim

int main(int argc, char** argv) {
  const auto line = walrelay::sim::Parse(argc, argv);
  if (!line) {
    fmt::print("{}", walrelay::sim::kUsage);
    return 64;
  }
  return walrelay::sim::Run(*line) ? EXIT_SUCCESS : EXIT_FAILURE;
}

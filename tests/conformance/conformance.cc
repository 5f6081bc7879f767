// Checks that walrelay's records equal those of Debezium's EventRouter and Connect's converters,
// byte for byte.
//
//   conformance --cases FILE [--only ID] [--verbose]
//
// Passes each case's row, as Postgres would send it, through the decoder, the router and the
// encoder, once for each of Connect's converters. The last line of output is "N passed, N failed".

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "conformance/judge.h"

namespace walrelay::conformance {
namespace {

struct Arguments {
  std::string cases;
  std::string only;
  bool verbose = false;
};

bool Parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--verbose") {
      out.verbose = true;
    } else if (flag == "--cases" && i + 1 < argc) {
      out.cases = argv[++i];
    } else if (flag == "--only" && i + 1 < argc) {
      out.only = argv[++i];
    } else {
      return false;
    }
  }
  return !out.cases.empty();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) {
    fmt::print(stderr, "usage: conformance --cases FILE [--only ID] [--verbose]\n");
    return 64;
  }
  const auto cases = ReadCases(arguments.cases);
  if (!cases.ok()) {
    fmt::print(stderr, "{}\n", cases.status().ToString());
    return 65;
  }
  size_t passed = 0;
  size_t failed = 0;
  size_t deviating = 0;
  std::map<std::string, std::vector<const Case*>> sequences;
  for (const Case& one : *cases) {
    std::vector<const Case*> alone = {&one};
    auto& rows = one.group.empty() ? alone : sequences[one.group];
    if (!one.group.empty()) {
      rows.push_back(&one);
    }
    if (!arguments.only.empty() && one.id != arguments.only) {
      continue;
    }
    const Verdict verdict = Judge(rows);
    deviating += verdict.deviates ? 1 : 0;
    (verdict.problem.empty() ? passed : failed) += 1;
    if (!verdict.problem.empty()) {
      fmt::print("FAILED {}: {}\n", one.id, verdict.problem);
    } else if (arguments.verbose) {
      fmt::print("{} {}\n", verdict.deviates ? "deviates" : "passed  ", one.id);
    }
  }
  fmt::print("{} cases deviate on purpose, see deviations.def\n", deviating);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace walrelay::conformance

int main(int argc, char** argv) {
  return walrelay::conformance::Main(argc, argv);
}

// Findings: the results of a diagnosis, one line each, with what to type to fix a problem.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "findings/checks.h"
#include "walrelay/error.h"

namespace walrelay {

// In ascending order: comparable with <. kWarning: the relay works, but something endangers it.
// kProblem: the relay would not start or would not publish.
enum class Severity : uint8_t { kOk, kWarning, kProblem };
std::string_view NameOf(Severity severity);  // "ok", "warning", "problem"

// How many checks run.
enum class Depth : uint8_t {
  kStart,  // the checks that decide whether `run` would start
  kAll,
};

struct Finding {
  std::string_view check;  // of findings/checks.def; its first word is the group
  Severity severity = Severity::kOk;
  std::string text;
  std::string remedy;             // text to paste if available; "" for kOk
  std::optional<ErrorCode> code;  // of a problem that the relay reports too
};

// Not thread-safe. `on_finding` is called on the thread that adds the finding.
class Findings {
 public:
  // Calls `on_finding` for each finding as it arises: a diagnosis takes seconds. May be empty.
  explicit Findings(std::function<void(const Finding&)> on_finding)
      : on_finding_(std::move(on_finding)) {}

  // Something that was checked and is in order; shown, so that a reader knows what was checked.
  void Good(CheckName check, std::string text);
  // `text` may contain text of servers: it is escaped when it is printed. `remedy`: what to type.
  void Warn(CheckName check, std::string text, std::string remedy);
  // REQUIRES: !error.ok().
  // Text and remedy come from the error and its row in the catalogue.
  void Problem(CheckName check, const absl::Status& error);
  // A problem without an error code of the relay.
  void Problem(CheckName check, std::string text, std::string remedy);

  // In the order of the checks. References are invalidated by the next finding.
  const std::vector<Finding>& all() const { return all_; }
  // kOk if there is no finding.
  Severity worst() const { return worst_; }

 private:
  void Add(Finding finding);

  std::function<void(const Finding&)> on_finding_;
  std::vector<Finding> all_;
  Severity worst_ = Severity::kOk;
};

// The finding as terminal text, with a line end. The severity is a coloured mark or a word.
std::string FindingText(const Finding& finding, bool colour);
// proto/walrelay/admin/v1/diagnosis.proto, with a line end.
std::string FindingsJson(const Findings& findings);

}  // namespace walrelay

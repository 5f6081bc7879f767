#include "findings/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// A mark in colour, for a terminal. Without colour a line begins with the severity as a word, so
// that its meaning never depends on colour alone.
std::string_view MarkOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "\033[32m✔\033[0m";
    case Severity::kWarning:
      return "\033[33m!\033[0m";
    case Severity::kProblem:
      return "\033[31m✘\033[0m";
  }
  return "?";
}

// The fields of proto/walrelay/admin/v1/diagnosis.proto. A finding has a code only if an error
// caused it.
std::string FindingJson(const Finding& finding) {
  JsonObject out;
  out.Add("check", finding.check);
  out.Add("severity", NameOf(finding.severity));
  out.Add("text", finding.text);
  out.AddText("remedy", finding.remedy);
  if (finding.code) {
    out.Add("code", ToString(*finding.code));
  }
  return std::move(out).Finish();
}

}  // namespace

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kWarning:
      return "warning";
    case Severity::kProblem:
      return "problem";
  }
  return "?";
}

void Findings::Good(CheckName check, std::string text) {
  Add({check.text(), Severity::kOk, std::move(text), "", std::nullopt});
}

void Findings::Warn(CheckName check, std::string text, std::string remedy) {
  Add({check.text(), Severity::kWarning, std::move(text), std::move(remedy), std::nullopt});
}

// With the title, code and remedy of the error catalogue, so that doctor and the relay describe the
// same failure in the same words.
void Findings::Problem(CheckName check, const absl::Status& error) {
  const ErrorEntry& entry = Describe(CodeOf(error));
  Add({check.text(), Severity::kProblem, fmt::format("{}: {}", entry.title, MessageOf(error)),
       RemedyFor(error), entry.code});
}

void Findings::Problem(CheckName check, std::string text, std::string remedy) {
  Add({check.text(), Severity::kProblem, std::move(text), std::move(remedy), std::nullopt});
}

void Findings::Add(Finding finding) {
  // The enumerators of Severity are in ascending order.
  worst_ = std::max(worst_, finding.severity);
  all_.push_back(std::move(finding));
  if (on_finding_) {
    on_finding_(all_.back());
  }
}

// Findings quote names and messages of servers, which may contain escape sequences: Printable()
// removes their effect on the terminal.
std::string FindingText(const Finding& finding, bool colour) {
  std::string out = colour ? fmt::format("{} ", MarkOf(finding.severity))
                           : fmt::format("{:<8}", NameOf(finding.severity));
  out += finding.code ? ToString(*finding.code) + " " : "";
  out += Printable(finding.text);
  // The name is an argument for `walrelay explain`, which has nothing to add to an "ok".
  out += finding.severity == Severity::kOk ? "\n" : fmt::format(" [{}]\n", finding.check);
  if (!finding.remedy.empty()) {
    out += fmt::format("          {}\n", Printable(finding.remedy));
  }
  return out;
}

std::string FindingsJson(const Findings& findings) {
  JsonObject out;
  out.Add("version", Version());
  out.Add("worst", NameOf(findings.worst()));
  out.Raw("findings", JsonArray(findings.all(), FindingJson));
  return std::move(out).Finish() + "\n";
}

}  // namespace walrelay

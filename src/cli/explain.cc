// `walrelay explain`: explains an error code, a check of doctor, a metric, an option or a section
// of the configuration, offline.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error_reference.h"
#include "base/text.h"
#include "cli/commands.h"
#include "config/former_option.h"
#include "config/option.h"
#include "config/reference.h"
#include "config/suggestion.h"
#include "findings/checks.h"
#include "metrics/metrics.h"
#include "metrics/reference.h"

namespace walrelay {
namespace {

struct ExplainFlags {
  std::string code;       // an error code, a check, a metric, an option, a key or a section
  bool markdown = false;  // print all error codes instead
  bool metrics = false;   // print the reference of the metrics instead
  bool checks = false;    // print the reference of doctor's checks instead
};

void Declare(FlagSet& set, ExplainFlags& flags) {
  set.Add("code", flags.code, "SUBJECT",
          "For example WR-2101, slot.retained, walrelay_leader, source.slot or kafka");
  set.Add("--markdown", flags.markdown, "Print all error codes as Markdown");
  set.Add("--checks", flags.checks, "Print all doctor checks as Markdown");
  set.Add("--metrics", flags.metrics, "Print all metrics as Markdown");
}

std::string ExplainError(ErrorCode code) {
  const ErrorEntry& entry = Describe(code);
  return fmt::format("{} {}\n  what it means: {}\n  what to do:    {}\n  reaction:      {}\n",
                     ToString(entry.code), entry.title, entry.meaning, entry.remedy,
                     DescribeReaction(entry.reaction));
}

std::string ExplainCheck(const CheckEntry& check) {
  return fmt::format("{}\n  what it checks: {}\n  why it matters: {}\n  what to do:     {}\n",
                     check.name, check.examines, check.why, check.remedy);
}

std::string ExplainMetric(const MetricEntry& metric) {
  return fmt::format("{}\n  type:          {}\n  label:         {}\n  what it means: {}\n",
                     metric.name, metric.type, metric.label.empty() ? "none" : metric.label,
                     metric.help);
}

// The names that Prometheus shows: a histogram has three series for each name.
std::string_view MetricNameOf(std::string_view series) {
  for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (series.ends_with(suffix)) {
      return series.substr(0, series.size() - suffix.size());
    }
  }
  return series;
}

std::optional<MetricEntry> FindMetric(std::string_view name) {
  const auto catalogue = Metrics::Catalogue();
  for (const std::string_view candidate : {name, MetricNameOf(name)}) {
    const auto found =
        std::find_if(catalogue.begin(), catalogue.end(),
                     [&](const MetricEntry& metric) { return metric.name == candidate; });
    if (found != catalogue.end()) {
      return *found;
    }
  }
  return std::nullopt;
}

// An option by its full name, or every option with this key.
std::string ExplainOptions(std::string_view name) {
  std::string out;
  for (const Option& option : Options()) {
    if (option.Name() == name || option.key == name) {
      out += (out.empty() ? "" : "\n") + OptionReference(option);
    }
  }
  return out;
}

// The members of a section of the configuration, or of a group of checks.
std::string ExplainGroup(std::string_view name) {
  std::string out;
  for (const Option& option : Options()) {
    if (option.section == name) {
      out += fmt::format("  {:<24} {}\n", option.key, option.doc.substr(0, option.doc.find(". ")));
    }
  }
  if (!out.empty()) {
    out = fmt::format("[{}] in the configuration; walrelay explain {}.KEY shows one key\n{}", name,
                      name, out);
  }
  std::string checks;
  for (const CheckEntry& check : kChecks) {
    if (check.name.substr(0, check.name.find('.')) == name) {
      checks += fmt::format("  {:<24} {}\n", check.name, check.examines);
    }
  }
  return checks.empty() ? out
                        : fmt::format("{}{}{}: checks of walrelay doctor\n{}", out,
                                      out.empty() ? "" : "\n", name, checks);
}

// Everything that has an explanation, for suggestions.
std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const Option& option : Options()) {
    names.push_back(option.Name());
    names.emplace_back(option.key);
    names.emplace_back(option.section);
  }
  for (const CheckEntry& check : kChecks) {
    names.emplace_back(check.name);
  }
  for (const MetricEntry& metric : Metrics::Catalogue()) {
    names.emplace_back(metric.name);
  }
  return names;
}

// "" for an unknown name. A section comes before a key of the same name, which has a section of its
// own to be named by.
std::string Explanation(std::string_view name) {
  if (const CheckEntry* check = FindCheck(name)) {
    return ExplainCheck(*check);
  }
  if (const auto code = FindErrorCode(name)) {
    return ExplainError(*code);
  }
  if (const auto metric = FindMetric(name)) {
    return ExplainMetric(*metric);
  }
  const std::string options = ExplainOptions(name);
  const std::string group = ExplainGroup(name);
  return options + (options.empty() || group.empty() ? "" : "\n") + group;
}

absl::StatusOr<ExitCode> ExplainName(std::string_view name) {
  if (const std::string text = Explanation(name); !text.empty()) {
    fmt::print("{}", text);
    return ExitCode::kOk;
  }
  const std::vector<std::string> names = AllNames();
  const std::vector<std::string_view> views(names.begin(), names.end());
  const FormerOption* former = FindFormerOption(name, "");
  const std::string meant = former != nullptr
                                ? fmt::format("; {}", MessageOf(FormerOptionError(*former)))
                                : DidYouMean(name, views);
  return Error(
      ErrorCode::kUsage,
      fmt::format("\"{}\" is not an error code, a check of doctor, a metric, an option or a "
                  "section of the configuration{}",
                  Printable(name, 60), meant),
      "For example: walrelay explain WR-2101, slot.retained, walrelay_leader, "
      "source.slot or kafka. --markdown lists all error codes, --checks all checks, "
      "--metrics all metrics; walrelay config docs lists all options.");
}

absl::StatusOr<ExitCode> Execute(const ExplainFlags& flags) {
  if (flags.markdown) {
    fmt::print("{}", ErrorReference());
  } else if (flags.metrics) {
    fmt::print("{}", MetricReference());
  } else if (flags.checks) {
    fmt::print("{}", CheckReference());
  } else {
    return ExplainName(flags.code);
  }
  return ExitCode::kOk;
}

}  // namespace

// Needs no configuration. 64 for a name that has no explanation.
Command ExplainCommand() {
  return MakeCommand<ExplainFlags>(
      "explain",
      "Explain an error code, a doctor check, a metric, or an option of the configuration", Declare,
      Execute);
}

}  // namespace walrelay

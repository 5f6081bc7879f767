#include "status/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "status/page_frame.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Pipeline = FleetReport::Pipeline;

size_t ReadyCount(const FleetReport& report) {
  return static_cast<size_t>(
      std::count_if(report.pipelines.begin(), report.pipelines.end(),
                    [](const Pipeline& each) { return IsReady(each.report.snapshot); }));
}

std::string Headline(const FleetReport& report) {
  return fmt::format("{} of {} pipelines ready", ReadyCount(report), report.pipelines.size());
}

// The worst first, then by name.
std::vector<const Pipeline*> ByHealth(const FleetReport& report) {
  std::vector<const Pipeline*> sorted;
  for (const Pipeline& each : report.pipelines) {
    sorted.push_back(&each);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Pipeline* a, const Pipeline* b) {
    return HealthOf(a->report) > HealthOf(b->report);
  });
  return sorted;
}

HealthLevel WorstHealth(const FleetReport& report) {
  const auto sorted = ByHealth(report);
  return sorted.empty() ? HealthLevel::kGood : HealthOf(sorted.front()->report);
}

// The code and the title of the worst problem; "" without one.
std::string ProblemOf(const StatusReport& report) {
  const std::vector<Problem> problems = ProblemsOf(report);
  if (problems.empty()) {
    return "";
  }
  const ErrorEntry& entry = Describe(CodeOf(problems.front().error));
  return fmt::format("{} {}", ToString(entry.code), entry.title);
}

std::string RetainedText(const StatusReport& report) {
  const auto& slot = report.snapshot.slot;
  return slot && slot->exists ? HumanBytes(slot->retained_bytes()) : "unknown";
}

std::string Row(const Pipeline& pipeline) {
  const StatusReport& report = pipeline.report;
  const std::string problem = ProblemOf(report);
  return fmt::format(
      "<tr class=\"{}\"><td><a href=\"status/{}\">{}</a><small>{}, slot {}</small></td>"
      "<td class=\"health\">{}<small>{}</small></td>"
      "<td class=\"figure\" data-label=\"Oldest unacknowledged\">{}</td>"
      "<td class=\"figure\" data-label=\"WAL retained\">{}</td></tr>\n",
      NameOf(HealthOf(report)), Html(pipeline.name), Html(pipeline.name),
      Html(report.identity.pipeline.source), Html(report.identity.pipeline.slot),
      HeadlineOf(report), Html(problem), OldestOf(report).value, RetainedText(report));
}

}  // namespace

std::string FleetJson(const FleetReport& report) {
  JsonObject out;
  out.Add("now", report.now);
  out.Add("version", report.version);
  out.Add("ready", ReadyCount(report) == report.pipelines.size());
  out.Raw("pipelines", JsonArray(report.pipelines, [](const Pipeline& pipeline) {
            JsonObject entry;
            entry.Add("name", pipeline.name);
            std::string status = StatusJson(pipeline.report);
            status.pop_back();  // its line end
            entry.Raw("status", status);
            return std::move(entry).Finish();
          }));
  return std::move(out).Finish() + "\n";
}

std::string FleetPage(const FleetReport& report) {
  std::string out = fmt::format("<header><b>walrelay</b><span>{}</span>{}</header>\n",
                                Html(report.version), TimeTag(report.now));
  out += fmt::format("<section class=\"state {}\"><h1>{}</h1></section>\n",
                     NameOf(WorstHealth(report)), Headline(report));
  out +=
      "<h2>Pipelines</h2>\n<section class=\"card\"><table><thead><tr><th>Pipeline</th>"
      "<th>State</th><th>Oldest unacknowledged</th><th>WAL retained</th></tr></thead><tbody>\n";
  for (const Pipeline* each : ByHealth(report)) {
    out += Row(*each);
  }
  out +=
      "</tbody></table></section>\n<footer><a href=\"status.json\">as JSON</a>"
      "<a href=\"metrics\">metrics</a><a href=\"readyz?verbose\">readiness</a></footer>\n";
  return PageFrame(fmt::format("{} · walrelay", Headline(report)), out);
}

std::string FleetText(const FleetReport& report) {
  std::string out = Headline(report) + "\n";
  size_t widest = 0;
  for (const Pipeline& each : report.pipelines) {
    widest = std::max(widest, each.name.size());
  }
  for (const Pipeline* each : ByHealth(report)) {
    const std::string problem = ProblemOf(each->report);
    out += fmt::format("  {:<{}}  {:<12} {} of WAL retained{}\n", each->name, widest,
                       NameOf(each->report.snapshot.relay.state), RetainedText(each->report),
                       problem.empty() ? "" : "; " + problem);
  }
  return out;
}

}  // namespace walrelay

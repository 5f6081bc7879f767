// The status report as an HTML page. It is complete without JavaScript.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "outbox/table_health.h"
#include "outbox/table_words.h"
#include "status/chart.h"
#include "status/page_frame.h"
#include "status/slot_words.h"
#include "status/status_report.h"
#include "status/throughput.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The width of the charts.
constexpr Micros kHour = std::chrono::hours(1);
// An interval without a point is a gap if it is longer than this many points.
constexpr int kGapPoints = 3;

std::string Ago(WallTime then, WallTime now) {
  return now - then < std::chrono::seconds(1) ? "just now" : FormatDuration(now - then) + " ago";
}

std::string Capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') {
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  }
  return out;
}

std::string Masthead(const StatusReport& report) {
  const PipelineIdentity& pipeline = report.identity.pipeline;
  return fmt::format(
      "<header><b>walrelay</b><span>{}</span><span>slot {}</span><span>{}</span>{}</header>\n",
      Html(pipeline.source), Html(pipeline.slot), Html(report.identity.version),
      TimeTag(report.now));
}

std::string StateCard(const StatusReport& report) {
  const RelayStatus& relay = report.snapshot.relay;
  std::string since = fmt::format("For {}.", FormatDuration(report.now - relay.since));
  if (!relay.waits_for.empty()) {
    since += fmt::format(" Waiting for {}.", Html(relay.waits_for));
  }
  return fmt::format(
      "<section class=\"state {}\"><h1>{}</h1><p>{}</p><small>{}</small></section>\n",
      NameOf(HealthOf(report)), HeadlineOf(report), Html(SummaryOf(report)), since);
}

std::string RemedyBox(std::string_view remedy) {
  return fmt::format("<p class=\"remedy\"><b>What to do</b>{}</p>", Html(remedy));
}

std::string ProblemCard(const Problem& problem, HealthLevel health) {
  const ErrorEntry& entry = Describe(CodeOf(problem.error));
  std::string out = fmt::format(
      "<article class=\"card problem {}\"><h3><span class=\"code\">{}</span>{}</h3>"
      "<p class=\"said\">{}</p>",
      NameOf(health), ToString(entry.code), Html(Capitalised(entry.title)),
      Html(MessageOf(problem.error)));
  if (!problem.detail.empty()) {
    out += fmt::format("<p class=\"said\">{}</p>", Html(problem.detail));
  }
  return out + fmt::format("<p>{}</p>{}</article>\n", Html(entry.meaning),
                           RemedyBox(RemedyFor(problem.error)));
}

std::string Tile(std::string_view name, std::string_view value, std::string_view note) {
  return fmt::format("<div class=\"card\"><dt>{}</dt><dd>{}<small>{}</small></dd></div>", name,
                     value, note);
}

// The age of the oldest event that Kafka has not acknowledged is the delay that consumers see.
std::string OldestTile(const StatusReport& report) {
  const RelayFigures& figures = report.snapshot.relay.figures;
  constexpr std::string_view kName = "Oldest unacknowledged";
  if (figures.oldest_commit) {
    return Tile(kName, FormatDuration(report.now - *figures.oldest_commit),
                fmt::format("committed {}", TimeTag(*figures.oldest_commit, report.now)));
  }
  const OldestWords words = OldestOf(report);
  if (!words.note.empty()) {
    return Tile(kName, words.value, words.note);
  }
  return Tile(kName, words.value,
              figures.last_acknowledged
                  ? fmt::format("acknowledged {}", Ago(*figures.last_acknowledged, report.now))
                  : std::string("nothing published yet"));
}

// With a decimal below ten, where it makes a difference.
std::string RateText(double rate) {
  return rate >= 10 || rate == 0 ? Grouped(static_cast<uint64_t>(std::llround(rate)))
                                 : fmt::format("{:.1f}", rate);
}

std::string Tiles(const StatusReport& report) {
  const RelayFigures& figures = report.snapshot.relay.figures;
  const auto throughput = ThroughputOf(report.snapshot.history);
  // "–" means "not measured", which is different from 0.
  const bool timed = throughput && throughput->median && throughput->slowest;
  const std::string stages = throughput ? StageWords(*throughput) : "";
  return fmt::format(
      "<dl class=\"tiles\">{}{}{}{}</dl>\n{}", OldestTile(report),
      Tile("Events per second", throughput ? RateText(throughput->events_per_second) : "–",
           fmt::format("{} since the start", Grouped(figures.acknowledged))),
      Tile("Commit to Kafka", timed ? FormatDuration(*throughput->median) : "–",
           timed ? fmt::format("p99 {}", FormatDuration(*throughput->slowest))
                 : std::string("no events in the last minute")),
      Tile("In flight to Kafka", Grouped(figures.records_in_flight),
           fmt::format("{} in {} transactions", HumanBytes(figures.bytes_in_flight),
                       Grouped(figures.transactions_in_flight))),
      stages.empty() ? "" : fmt::format("<p class=\"stages\">Latency by stage: {}.</p>\n", stages));
}

std::string ProgressLine(const StatusReport& report) {
  const auto& progress = report.snapshot.relay.progress;
  return progress ? fmt::format("<p class=\"stages\">Progress: {}.</p>\n",
                                Html(ProgressWords(*progress, report.now)))
                  : "";
}

std::string IncomingLine(const RelayFigures& figures) {
  return figures.incoming_bytes == 0 ? ""
                                     : fmt::format("<p class=\"stages\">Arriving: {}.</p>\n",
                                                   IncomingWords(figures.incoming_bytes));
}

std::string ModeLine(const StatusReport& report) {
  return fmt::format("<p class=\"stages\">Mode {}.</p>\n", Html(ModeWords(report)));
}

// The share of the limit that is in use. A limit of 0 counts as used up. REQUIRES: there is a
// limit.
std::string Meter(const SlotSample& slot) {
  const auto retained = static_cast<double>(slot.retained_bytes());
  const auto limit = retained + static_cast<double>(std::max<int64_t>(*slot.reserve_bytes(), 0));
  const double percent = limit > 0 ? 100 * retained / limit : 100;
  const HealthLevel health = slot.risk >= SlotRisk::kCritical  ? HealthLevel::kBad
                             : slot.risk == SlotRisk::kWarning ? HealthLevel::kWarning
                                                               : HealthLevel::kGood;
  return fmt::format(
      "<div class=\"meter {}\" role=\"img\" aria-label=\"{:.0f} percent used\">"
      "<i style=\"width:{:.1f}%\"></i></div>"
      "<div class=\"ends\"><span>{} retained</span><span>limit {}</span></div>",
      NameOf(health), percent, std::min(percent, 100.0), HumanBytes(slot.retained_bytes()),
      HumanBytes(static_cast<uint64_t>(limit)));
}

// Values as Postgres prints them, for comparison with pg_replication_slots.
std::string SlotFacts(const SlotSample& slot) {
  const auto fact = [](std::string_view name, std::string_view value) {
    return fmt::format("<span>{} <b>{}</b></span>", name, Html(value));
  };
  std::string out =
      fact("lag", fmt::format("{}, {}", HumanBytes(slot.lag_bytes()), LagAgeWords(slot)));
  out += fact("confirmed", slot.row.confirmed_flush_lsn.ToString());
  out += fact("WAL end", slot.wal_end.ToString());
  if (!slot.row.wal_status.empty()) {
    out += fact("wal_status", slot.row.wal_status);
  }
  out += slot.row.active ? fact("active, process", fmt::format("{}", slot.row.active_pid))
                         : fact("active", "no");
  if (slot.row.inactive_since) {
    out += fact("inactive since", Rfc3339(*slot.row.inactive_since));
  }
  return fmt::format("<div class=\"info\">{}</div>", out);
}

std::string SlotSection(const SlotSample& slot) {
  std::string out = "<h2>WAL retained by the slot</h2>\n<section class=\"card\">";
  if (slot.exists && slot.reserve_bytes()) {
    out += Meter(slot);
  }
  for (const std::string& words : SlotWords(slot)) {
    out += fmt::format("<p>{}</p>", Html(words));
  }
  return out + (slot.exists ? SlotFacts(slot) : "") + "</section>\n";
}

std::string CopySection(const std::vector<SlotCopy>& copies) {
  if (copies.empty()) {
    return "";
  }
  std::string out = "<h2>Failover</h2>\n<section class=\"card\">";
  for (const SlotCopy& copy : copies) {
    out += fmt::format("<p>{}</p>", Html(SlotCopyWords(copy)));
  }
  return out + "</section>\n";
}

std::string TableSection(const std::vector<TableReading>& tables) {
  if (tables.empty()) {
    return "";
  }
  std::string out = "<h2>Outbox tables</h2>\n";
  for (const TableReading& table : tables) {
    out += "<section class=\"card\">";
    out += fmt::format("<p>{}.</p><p>{}.</p>", Html(RowsWords(table)), Html(SizeWords(table)));
    for (const TableProblem& problem : ProblemsOf(table)) {
      out +=
          fmt::format("<p>{}.</p>{}", Html(Capitalised(problem.text)), RemedyBox(problem.remedy));
    }
    out += "</section>\n";
  }
  return out;
}

std::string PruningSection(const std::optional<PruneStatus>& pruning, WallTime now) {
  return pruning ? fmt::format("<h2>Pruning</h2>\n<section class=\"card\"><p>{}.</p></section>\n",
                               Html(PruningWords(*pruning, now)))
                 : "";
}

// The points of one series over the last hour. Missing points appear as a gap.
template <typename Figure>
std::vector<ChartPoint> Series(const StatusReport& report, Figure&& figure) {
  std::vector<ChartPoint> points;
  WallTime before;
  for (const HistoryPoint& point : report.snapshot.history) {
    const Micros ago = report.now - point.at;
    // 0 is an hour ago, 1 is now. ChartSvg() clamps what lies outside.
    const double x = 1 - static_cast<double>(ago.count()) / static_cast<double>(kHour.count());
    if (!points.empty() && point.at - before > kGapPoints * point.span) {
      points.push_back({x, std::nullopt});
    }
    before = point.at;
    points.push_back({x, figure(point)});
  }
  return points;
}

std::string ChartFigure(std::string_view name, std::string_view value, const std::string& svg) {
  return fmt::format(
      "<figure class=\"card\"><figcaption><span>{}</span><b>{}</b></figcaption>{}"
      "<figcaption><span>an hour ago</span><span>now</span></figcaption></figure>",
      name, value, svg);
}

// The maximum of a series as "up to X".
template <typename Words>
std::string Peak(const std::vector<ChartPoint>& points, Words&& words) {
  std::optional<double> top;
  for (const ChartPoint& point : points) {
    // An absent value compares as less than any other.
    top = std::max(top, point.y);
  }
  return top ? "up to " + words(*top) : "–";
}

std::string Charts(const StatusReport& report) {
  const auto lag = Series(report, [](const HistoryPoint& point) {
    return point.lag_bytes ? std::optional(static_cast<double>(*point.lag_bytes)) : std::nullopt;
  });
  const auto rate = Series(report, [](const HistoryPoint& point) {
    return std::optional(static_cast<double>(point.events) /
                         std::chrono::duration<double>(point.span).count());
  });
  const auto latency = Series(report, [](const HistoryPoint& point) {
    return point.slowest ? std::optional(static_cast<double>(point.slowest->count()))
                         : std::nullopt;
  });
  const auto bytes = [](double y) { return HumanBytes(static_cast<uint64_t>(y)); };
  const auto duration = [](double y) { return FormatDuration(Micros(std::llround(y))); };
  return fmt::format(
      "<h2>The last hour</h2>\n<section class=\"charts\">{}{}{}</section>\n",
      ChartFigure("Slot lag", Peak(lag, bytes), ChartSvg(lag, 1 << 20, "slot lag")),
      ChartFigure("Events per second", Peak(rate, RateText),
                  ChartSvg(rate, 1, "events per second")),
      ChartFigure("Latency (p99)", Peak(latency, duration),
                  ChartSvg(latency, 1000, "latency from commit to acknowledgement")));
}

// Errors that are over, which a log may not show any more.
std::string PastSection(const StatusReport& report) {
  if (report.snapshot.errors.empty()) {
    return "";
  }
  std::string out = "<h2>Recent errors</h2>\n<section class=\"card\"><ul class=\"past\">";
  for (const PastError& past : report.snapshot.errors) {
    const ErrorEntry& entry = Describe(CodeOf(past.error));
    out += fmt::format(
        "<li><span class=\"when\">{}{}</span><span class=\"code\">{}</span>{}"
        "<p class=\"said\">{}</p><p>{}</p></li>",
        past.times > 1 ? fmt::format("{} times, last ", Grouped(past.times)) : "",
        Ago(past.last, report.now), ToString(entry.code), Html(Capitalised(entry.title)),
        Html(MessageOf(past.error)), Html(RemedyFor(past.error)));
  }
  return out + "</ul></section>\n";
}

// The links are relative to the path of the page, which a proxy may have moved.
std::string Footer(std::string_view name) {
  if (name.empty()) {
    return "<footer><a href=\"status.json\">as JSON</a><a href=\"metrics\">metrics</a>"
           "<a href=\"readyz?verbose\">readiness</a></footer>\n";
  }
  return fmt::format(
      "<footer><a href=\"../status\">all pipelines</a><a href=\"{0}.json\">as JSON</a>"
      "<a href=\"../metrics\">metrics</a><a "
      "href=\"../readyz/{0}?verbose\">readiness</a></footer>\n",
      Html(name));
}

}  // namespace

std::string StatusPage(const StatusReport& report) {
  std::string out = Masthead(report) + StateCard(report);
  // The colour follows the health of the whole, but a problem is at least a warning.
  for (const Problem& problem : ProblemsOf(report)) {
    const HealthLevel health = HealthOf(report);
    out += ProblemCard(problem,
                       health == HealthLevel::kBad ? HealthLevel::kBad : HealthLevel::kWarning);
  }
  for (const std::string& words : UnknownsOf(report)) {
    out += fmt::format("<p class=\"stages\">{}</p>\n", Html(words));
  }
  // A standby has no figures. The page of the active instance shows them.
  if (report.snapshot.relay.state != RelayState::kStandby) {
    out += Tiles(report) + IncomingLine(report.snapshot.relay.figures) + ProgressLine(report);
  }
  out += ModeLine(report);
  if (report.snapshot.slot) {
    out += SlotSection(*report.snapshot.slot);
  }
  out += CopySection(report.snapshot.copies);
  out += TableSection(report.snapshot.tables);
  out += PruningSection(report.snapshot.pruning, report.now);
  out += Charts(report) + PastSection(report) + Footer(report.identity.name);
  return PageFrame(fmt::format("{} · {} · {} · walrelay", HeadlineOf(report),
                               report.identity.pipeline.source, report.identity.pipeline.slot),
                   out);
}

}  // namespace walrelay

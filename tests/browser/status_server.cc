// Serves the status page of each sample under its name, for a browser, and prints its port. Exits
// at the end of standard input.
//
// /fleet is the overview of a process with all samples as pipelines. /moving shows a different
// number with each request, to test that the page refreshes itself.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "fakes/status_samples.h"
#include "http/http_server.h"
#include "status/fleet_report.h"

namespace {

// Shows each page in a frame with the width of a phone; the title has the width of each content.
std::string PhonePage(const std::map<std::string, walrelay::HttpHandler>& pages) {
  std::string out = "<!doctype html>";
  for (const auto& [path, handler] : pages) {
    out += fmt::format(
        "<iframe name=\"{0}\" src=\"/{0}\" width=390 height=900 style=\"border:0\"></iframe>",
        path.substr(1));
  }
  return out + R"(<script>
onload=()=>document.title=JSON.stringify(Object.fromEntries([...document.querySelectorAll("iframe")].map(
  (f)=>[f.name,f.contentDocument.documentElement.scrollWidth])))
</script>)";
}

walrelay::HttpResponse Html(std::string body) {
  return {.content_type = "text/html; charset=utf-8", .body = std::move(body)};
}

walrelay::FleetReport Fleet(const std::map<std::string, walrelay::StatusReport>& samples) {
  walrelay::FleetReport fleet{
      .version = "1.2.3", .now = samples.begin()->second.now, .pipelines = {}};
  for (const auto& [name, report] : samples) {
    fleet.pipelines.push_back({.name = name, .report = report});
  }
  return fleet;
}

}  // namespace

int main() {
  using namespace walrelay;
  std::map<std::string, HttpHandler> pages;
  const auto samples = testing::StatusSamples();
  for (const auto& sample : samples) {
    pages["/" + sample.first] = [&](const PageRequest&) { return Html(StatusPage(sample.second)); };
  }
  pages["/fleet"] = [&](const PageRequest&) { return Html(FleetPage(Fleet(samples))); };
  pages["/phone"] = [phone = PhonePage(pages)](const PageRequest&) { return Html(phone); };
  std::atomic<uint64_t> requests = 0;
  pages["/moving"] = [&](const PageRequest&) {
    StatusReport report = samples.at("streaming");
    report.snapshot.relay.figures.acknowledged = 1000 + ++requests;
    return Html(StatusPage(report));
  };
  const auto server = HttpServer::Start("127.0.0.1:0", pages);
  if (!server.ok()) {
    return 1;
  }
  fmt::print("{}\n", (*server)->port());
  std::fflush(stdout);
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  return 0;
}

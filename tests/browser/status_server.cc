// Serves the status page of each sample under its name, for a browser, and prints its port. Exits
// at the end of standard input.
//
// /moving shows a different number with each request, to test that the page refreshes itself.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "fakes/status_samples.h"
#include "http/http_server.h"

namespace {

// Shows each sample in a frame with the width of a phone; the title has the width of each content.
std::string PhonePage(const std::map<std::string, walrelay::StatusReport>& samples) {
  std::string out = "<!doctype html>";
  for (const auto& [name, report] : samples) {
    out += fmt::format(
        "<iframe name=\"{0}\" src=\"/{0}\" width=390 height=900 style=\"border:0\"></iframe>",
        name);
  }
  return out + R"(<script>
onload=()=>document.title=JSON.stringify(Object.fromEntries([...document.querySelectorAll("iframe")].map(
  (f)=>[f.name,f.contentDocument.documentElement.scrollWidth])))
</script>)";
}

}  // namespace

int main() {
  using namespace walrelay;
  std::map<std::string, HttpHandler> pages;
  const auto page = [](const StatusReport& report) {
    return HttpResponse{.content_type = "text/html; charset=utf-8", .body = StatusPage(report)};
  };
  const auto samples = testing::StatusSamples();
  for (const auto& sample : samples) {
    pages["/" + sample.first] = [&](const PageRequest&) { return page(sample.second); };
  }
  pages["/phone"] = [&](const PageRequest&) {
    return HttpResponse{.content_type = "text/html; charset=utf-8", .body = PhonePage(samples)};
  };
  std::atomic<uint64_t> requests = 0;
  pages["/moving"] = [&](const PageRequest&) {
    StatusReport report = samples.at("streaming");
    report.snapshot.relay.figures.acknowledged = 1000 + ++requests;
    return page(report);
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

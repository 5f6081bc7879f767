// FleetReport: the status of all pipelines of a process, and its texts.
//
// One line per pipeline; each has a report of its own (status_report.h). All functions are pure,
// and escape text from rows, servers and brokers.
#pragma once

#include <string>
#include <vector>

#include "status/status_report.h"

namespace walrelay {

struct FleetReport {
  struct Pipeline {
    std::string name;  // letters, digits, "_", "-" and "."
    StatusReport report;
  };

  std::string version;
  WallTime now;
  std::vector<Pipeline> pipelines;  // by name
};

// As specified by proto/walrelay/admin/v1/status.proto (Fleet), with a line end.
std::string FleetJson(const FleetReport& report);
// Links to the page of each pipeline, /status/NAME. As StatusPage() it may quote rows: not for a
// request with a foreign Host.
std::string FleetPage(const FleetReport& report);
// One line per pipeline, the worst first.
std::string FleetText(const FleetReport& report);

}  // namespace walrelay

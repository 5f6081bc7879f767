// The HTTP endpoints of a running relay.
//
//   /livez            200 while the main loop runs; independent of Postgres and Kafka
//   /readyz           200 while events flow or a standby is healthy; ?verbose lists the checks
//   /startupz         200 after the first connection attempt
//   /metrics          in the Prometheus text format
//   /status           for people; /status.json for programs, /status.txt for a terminal
//   /healthz          same as /livez
//   /q/health, …/live, …/ready    as in Debezium Server, for its probes
//
// The status pages and the reasons on /readyz show row data (ids, keys); requests with a foreign
// Host do not get them.
//
// The handlers run on the HTTP server's thread, and read only the board and the metrics.
#pragma once

#include <map>
#include <string>

#include "http/http_server.h"
#include "metrics/metrics.h"
#include "status/status_board.h"
#include "status/status_report.h"
#include "walrelay/clock.h"

namespace walrelay {

// All arguments except `identity` must outlive the server.
std::map<std::string, HttpHandler> StatusEndpoints(const StatusIdentity& identity,
                                                   const StatusBoard& board,
                                                   const MetricsRegistry& metrics,
                                                   const Clock& clock);

}  // namespace walrelay

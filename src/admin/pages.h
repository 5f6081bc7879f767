// The pages of a running relay.
//
//   /livez            200 while the relay's loop turns; says nothing of Postgres or Kafka
//   /readyz           200 while events flow or a standby is well; ?verbose lists what was looked at
//   /startupz         200 once the first attempt to connect has been made
//   /metrics          Prometheus' text format
//   /status           for people; /status.json for programs, /status.txt for a terminal
//   /healthz          as /livez
//   /q/health, …/live, …/ready    Debezium Server's, as its probes expect them
//
// The status pages and the reasons on /readyz show data of rows (ids, keys); a request under a
// foreign Host gets neither.
#pragma once

#include <map>
#include <string>

#include "admin/http_server.h"
#include "admin/status_report.h"
#include "metrics/metrics.h"
#include "relay/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// All but the identity must outlive the server that shows the pages.
std::map<std::string, HttpHandler> Pages(const StatusIdentity& identity, const StatusBoard& board,
                                         const Metrics& metrics, const Clock& clock);

}  // namespace walrelay

// The HTTP endpoints of a running process.
//
//   /livez            200 while the thread of each pipeline runs; independent of Postgres and Kafka
//   /readyz           200 while events flow or a standby is healthy; ?verbose lists the checks
//   /startupz         200 after the first connection attempt
//   /metrics          in the Prometheus text format
//   /status           for people; /status.json for programs, /status.txt for a terminal
//   /healthz          same as /livez
//   /q/health, …/live, …/ready    as in Debezium Server, for its probes
//
// With several pipelines, /readyz is 200 if all are ready, /status lists them, and each has pages
// of its own: /readyz/NAME, /status/NAME, /status/NAME.json and /status/NAME.txt.
//
// The status pages and the reasons on /readyz show row data (ids, keys), unless http.row_data is
// false; requests with a foreign Host do not get them.
//
// The handlers run on the HTTP server's thread, and read only the list and the metrics.
#pragma once

#include <map>
#include <string>

#include "admin/pipeline_list.h"
#include "http/http_server.h"
#include "metrics/metrics.h"
#include "walrelay/clock.h"

namespace walrelay {

// `fleet`: the process serves several pipelines. The arguments must outlive the server.
std::map<std::string, HttpHandler> StatusEndpoints(const PipelineList& pipelines, bool fleet,
                                                   const MetricsRegistry& metrics,
                                                   const Clock& clock);

}  // namespace walrelay

// The pages of a running relay: /livez, /readyz, /metrics.
#pragma once

#include <map>
#include <string>

#include "admin/http_server.h"
#include "metrics/metrics.h"
#include "relay/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// All must outlive the server that shows the pages.
std::map<std::string, HttpHandler> HealthPages(const StatusBoard& board, const Metrics& metrics,
                                               const Clock& clock);

}  // namespace walrelay

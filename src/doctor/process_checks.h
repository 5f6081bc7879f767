// Checks of this machine, the libraries, and the relay that runs here, if any.
#pragma once

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

// Blocks for at most two seconds per request to the relay at http.listen; what answers there may
// not be a relay, so its text is escaped. Reads RLIMIT_NOFILE and the memory limit of cgroup v2;
// without one there is no finding.
void CheckProcess(const Config& config, Findings& out);

}  // namespace walrelay

// Checks of this machine, the libraries, and the relay that runs here, if any.
#pragma once

#include "findings/findings.h"
#include "findings/sink_diagnosis.h"

namespace walrelay {

struct Config;

// `sink` adds what it knows of its library. Blocks for at most two seconds per request to the relay
// at http.listen; what answers there may not be a relay, so its text is escaped. Reads
// RLIMIT_NOFILE and the memory limit of cgroup v2; without a limit the check adds no finding.
void CheckProcess(const Config& config, SinkDiagnosis& sink, Findings& out);

}  // namespace walrelay

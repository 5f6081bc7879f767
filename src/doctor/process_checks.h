// Checks of this machine, the libraries, and the relay that runs here, if any.
#pragma once

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

void CheckProcess(const Config& config, Findings& out);

}  // namespace walrelay

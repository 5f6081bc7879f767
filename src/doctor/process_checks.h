// This machine, the libraries, and the relay that runs here, if one does.
#pragma once

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

void CheckProcess(const Config& config, Findings& out);

}  // namespace walrelay

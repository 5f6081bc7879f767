// Checks that need no connection: `run` refuses to start if one fails, and `check --offline` runs
// them after it reads the file.
#pragma once

#include <vector>

#include "config/loader.h"
#include "config/problems.h"

namespace walrelay {

struct Config;

// Everything about the values of options that only the libraries, the router and the files of this
// machine can tell: WR-1003, WR-1005, WR-1006, WR-1009, WR-4006, WR-4013, WR-5002. The servers of
// `needs` only. Reads the files that the configuration names, but connects to nothing and runs no
// command.
std::vector<OptionError> CheckOffline(const Config& config, ConfigNeeds needs = {});

}  // namespace walrelay

// The SQL that `walrelay setup` prints.
//
// Pure: does not look at the database.
#pragma once

#include <string>

#include "setup/setup_options.h"

namespace walrelay {

struct SourceConfig;

// All statements for an empty database, in order, as a script with comments. The role is "walrelay"
// if none is given.
std::string SetupScript(const SourceConfig& source, const SetupOptions& options);

}  // namespace walrelay

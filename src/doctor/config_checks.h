// Checks of a configuration that is already known to be valid.
#pragma once

#include "config/loader.h"
#include "doctor/findings.h"

namespace walrelay {

// Warns about secrets that every local user may read: in the configuration file, or in a key file.
// (A password file with such permissions is rejected when it is read.)
void CheckSecretsAreKept(const LoadedConfig& loaded, Findings& out);

}  // namespace walrelay

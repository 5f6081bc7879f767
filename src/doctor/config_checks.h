// The configuration itself, as far as more can be said of it than that it is right.
#pragma once

#include "config/loader.h"
#include "doctor/findings.h"

namespace walrelay {

// Secrets that everybody on this machine may read: in the configuration's file, or a key's.
// (A password's own file is refused when it is read.)
void CheckSecretsAreKept(const LoadedConfig& loaded, Findings& out);

}  // namespace walrelay

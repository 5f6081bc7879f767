// Checks of a configuration that is already known to be valid.
#pragma once

#include "config/loader.h"
#include "findings/findings.h"

namespace walrelay {

// Warns about secrets that every local user may read: in the configuration file, or in a key file.
// (A password file with such permissions is rejected when it is read.)
// Reads only the files' permissions. A file that its group may read is not a finding: services
// commonly read theirs that way. Neither is a secret from a variable or a flag. A file that cannot
// be examined is skipped.
void CheckSecretsAreKept(const LoadedConfig& loaded, Findings& out);

// Names the options whose file is a credential of systemd: the unit has a new one only after a
// restart.
void CheckCredentials(const Config& config, Findings& out);

}  // namespace walrelay

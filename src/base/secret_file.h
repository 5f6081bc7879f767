// Secrets that stand in files: passwords that a supervisor provides (systemd credentials, projected
// Kubernetes secrets) and may rotate at any time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "walrelay/secret.h"

namespace walrelay {

// The file's content without one trailing newline; 64 KiB at most. Errors: WR-1005 when it cannot
// be read, or when everybody may read or write it.
absl::StatusOr<Secret> ReadSecretFile(const std::string& path);

}  // namespace walrelay

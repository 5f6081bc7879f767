// Secrets in files: passwords that a supervisor provides (systemd credentials, projected Kubernetes
// secrets) and may rotate at any time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "walrelay/secret.h"

namespace walrelay {

// The file's content without one trailing newline; at most 64 KiB. Errors: WR-1005 if the file
// cannot be read, or is readable or writable by other users (mode o+r or o+w).
// Checks the permissions of the opened file, not of the path. The group may read it: Kubernetes
// mounts secrets with fsGroup. Blocks as long as the file system does. An empty file is an empty
// secret.
absl::StatusOr<Secret> ReadSecretFile(const std::string& path);

// The same for an open descriptor, such as standard input, without the check of permissions. `name`
// is for messages. `fd` stays open.
absl::StatusOr<Secret> ReadSecret(int fd, const std::string& name);

}  // namespace walrelay

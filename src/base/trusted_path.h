// Whether other users could have written a file that the operator did not name.
//
// A configuration names commands to run. One that lies in the current folder, or that another user
// dropped into a folder of configurations, must not run them as this user, who may be root.
// Both functions block as long as the file system does. Errors: WR-1010, with the entry that is not
// trusted; WR-1004 for a path that cannot be examined.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walrelay {

// OK if only root and the effective user could have put the file there: they own it and every
// folder on the way to it, and no other user and no group may write to any of these. Symbolic links
// are followed one by one, so that the folder of each is checked, too. A folder with the sticky
// bit, such as /tmp, may be passed on the way to a folder, because others cannot rename what is in
// it.
//
// Another user cannot replace a file or a folder that was checked, so the file may be opened by its
// path. An access control list that lets others write shows in the group's permissions.
absl::Status CheckTrustedPath(const std::string& path);

// For a file in `folder`, which the operator has named: OK if it and the file that a symbolic link
// names belong to root, the effective user or the owner of the folder, and other users cannot write
// to it. (The folder itself may be writable for all: Kubernetes mounts a ConfigMap like that.)
absl::Status CheckTrustedEntry(const std::string& folder, const std::string& path);

}  // namespace walrelay

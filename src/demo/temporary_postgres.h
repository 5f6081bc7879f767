// TemporaryPostgres: a temporary Postgres cluster.
//
// It runs in a temporary directory, listens only on a Unix socket, and has wal_level = logical.
// Uses the binaries of Debian's packages, the newest first, or those in the PATH. If this process
// is root, the server runs as an unprivileged user, because Postgres refuses to run as root.
// The destructor removes the cluster.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "demo/child_process.h"

namespace walrelay {

class TemporaryPostgres {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryPostgres>> Start();
  ~TemporaryPostgres();

  // Connects as superuser.
  std::string dsn() const;
  const std::string& version() const { return version_; }
  // The demonstration may store its files here, too.
  const std::string& directory() const { return directory_; }

 private:
  TemporaryPostgres() = default;
  absl::Status Initialise(const std::string& binaries);
  absl::Status Launch(const std::string& binaries);
  absl::Status WaitUntilReady();
  ChildProcess::Options AsServer(std::vector<std::string> arguments) const;

  std::string directory_;
  std::string version_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  std::unique_ptr<ChildProcess> server_;
};

}  // namespace walrelay

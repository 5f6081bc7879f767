// ThrowawayPostgres: a database cluster for a few minutes.
//
// In a directory of its own, on a Unix socket only, with wal_level = logical. Found are the
// binaries on the PATH and those of Debian's packages, the newest first. As root it runs as the
// user `postgres`, or `nobody`: Postgres refuses to run as root. Nothing of it is left when it
// goes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "demo/child_process.h"

namespace walrelay {

class ThrowawayPostgres {
 public:
  static absl::StatusOr<std::unique_ptr<ThrowawayPostgres>> Start();
  ~ThrowawayPostgres();

  // Of the superuser.
  std::string dsn() const;
  const std::string& version() const { return version_; }
  // Where the demonstration may put its own files.
  const std::string& directory() const { return directory_; }

 private:
  ThrowawayPostgres() = default;
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

// TemporaryPostgres: a temporary Postgres cluster.
//
// It runs in a temporary directory, listens only on a Unix socket, and has wal_level = logical.
// Uses the binaries of Debian's packages, the newest first, or those in the PATH. If this process
// is root, the server runs as an unprivileged user, because Postgres refuses to run as root.
// The destructor removes the cluster.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "demo/child_process.h"

namespace walrelay {

class TemporaryPostgres {
 public:
  // Blocks: initdb takes a second or more, and the start of the server at most 30 seconds. Errors:
  // WR-5006 if no server is installed, initdb fails or the server does not start, with the last
  // line of its log; those of ChildProcess::Start().
  static absl::StatusOr<std::unique_ptr<TemporaryPostgres>> Start();
  // Immediate shutdown (SIGQUIT), which does not wait for sessions. Blocks until the server has
  // exited.
  ~TemporaryPostgres();

  // Connects as superuser.
  // Over the Unix socket in directory(), with authentication "trust"; contains no password.
  std::string dsn() const;
  // As the server reports it. Valid as long as this object, as is directory().
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

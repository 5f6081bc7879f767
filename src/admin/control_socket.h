// The control channel of a running relay: for what an operator on this machine tells it to do.
//
// A Unix socket in the abstract namespace: nothing is written to a disk, so it works in a container
// with a read-only root and under systemd's DynamicUser; and it does not leave the network
// namespace, so `kubectl exec` reaches it and a neighbour does not. The HTTP listener stays
// read-only.
//
// Anyone may bind or connect to an abstract name. So both ends check with SO_PEERCRED who is at the
// other: the relay takes requests of its own user and of root alone; a client asks a process of its
// own user or of root, and root asks any. Names carry a random part, so that nobody can take one
// before the relay does.
//
// One request and one answer a connection, each a single message of text.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace walrelay {

// What a relay's socket is called, up to the random part: by slot and database. `source`: of the
// database, as DescribeDsn() says it; "": of any.
std::string ControlPrefix(std::string_view slot, std::string_view source);

class ControlServer {
 public:
  // Answers a request. Called on the server's thread.
  using Handler = std::function<std::string(std::string_view request)>;

  // Errors: WR-5008 where the kernel has no such socket to give.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(const std::string& prefix,
                                                              Handler handler);
  ~ControlServer();

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  ControlServer(UniqueFd listener, Handler handler);

  void Run();
  void Serve(const UniqueFd& client) const;

  const UniqueFd listener_;
  const Handler handler_;
  const UniqueFd stop_;
  std::thread thread_;  // last: starts when all else is there
};

// A relay that listens on this machine.
struct ControlPeer {
  std::string name;  // of its socket
  pid_t pid = 0;     // as seen from here; 0: in another namespace of processes
  uid_t user = 0;
};

// Those that the caller may ask, of names that begin with `prefix`.
std::vector<ControlPeer> FindControlPeers(std::string_view prefix);

// Errors: WR-5007 when it does not answer.
absl::StatusOr<std::string> AskControlPeer(const ControlPeer& peer, std::string_view request);

}  // namespace walrelay

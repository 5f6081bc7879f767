// The control channel of a running relay, for commands of an operator on the same host.
//
// A Unix socket in the abstract namespace. It needs no file, so it works in a container with a
// read-only root file system and with systemd's DynamicUser. It is limited to the network
// namespace, so that `kubectl exec` reaches it, but other pods do not. The HTTP listener stays
// read-only.
//
// Every process can bind or connect to an abstract name. Both ends therefore check the peer with
// SO_PEERCRED: the relay accepts requests only of its own user and of root; a client believes only
// processes of its own user and of root, and, as root, services of the system whose unit is named
// like walrelay. Names have a random part, so that no other process can bind a name before the
// relay does.
//
// Each connection carries one request and one answer, each a single text message.
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

// The name of a relay's socket without the random part, determined by slot and database. `source`:
// the database as formatted by DescribeDsnAlone(); "": any database.
std::string ControlPrefix(std::string_view slot, std::string_view source);

// The name of the socket for requests to the process as a whole. `config`: the absolute path of its
// configuration file or directory; "": none.
std::string ProcessControlPrefix(std::string_view config);

// Threads: the handler is called on the server's thread, one request at a time. A client that sends
// nothing is dropped after two seconds.
class ControlServer {
 public:
  // Answers a request. Called on the server's thread.
  using Handler = std::function<std::string(std::string_view request)>;

  // Errors: WR-5008 if the socket cannot be created.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(const std::string& prefix,
                                                              Handler handler);
  // Waits for the request that is being answered.
  ~ControlServer();

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  ControlServer(UniqueFd listener, Handler handler);

  // The body of the thread: accepts connections until stop_ is written.
  void Run();
  // Checks the user of a connection, and answers its request.
  void Serve(const UniqueFd& client) const;

  const UniqueFd listener_;
  const Handler handler_;
  const UniqueFd stop_;
  std::thread thread_;  // last: starts after all other members are initialized
};

// A relay that listens on this host.
struct ControlPeer {
  std::string name;  // of its socket
  pid_t pid = 0;     // in the PID namespace of this process; 0: not visible in it
  uid_t user = 0;
  bool trusted = false;  // see above; the others are not asked
};

// The processes that listen under names that begin with `prefix`, also those of other users. Waits
// two seconds at most for those that do not accept a connection, and leaves them out.
std::vector<ControlPeer> FindControlPeers(std::string_view prefix);

// Whether a line of /proc/PID/cgroup is that of a service of the system whose unit begins with
// "walrelay".
bool IsWalrelayService(std::string_view line);

// Errors: WR-5007 if the relay does not answer within a few seconds, or is not trusted.
absl::StatusOr<std::string> SendControlRequest(const ControlPeer& peer, std::string_view request);

}  // namespace walrelay

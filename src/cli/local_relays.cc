#include "cli/local_relays.h"

#include <fmt/format.h>

#include "postgres/connection_parameters.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<std::vector<ControlPeer>> FindLocalRelays(const SourceConfig& source) {
  std::vector<ControlPeer> peers =
      FindControlPeers(ControlPrefix(source.slot, source.dsn.empty() ? "" : DescribeDsn(source)));
  if (peers.empty()) {
    return Error(ErrorCode::kRelaySilent,
                 fmt::format("no relay of slot {} runs on this host as this user", source.slot),
                 "Run it where walrelay run runs (kubectl exec, docker exec), with the same "
                 "configuration, as the same user or as root.");
  }
  return peers;
}

}  // namespace walrelay

#include "cli/local_relays.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "postgres/dsn.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {

std::vector<ControlPeer> TrustedPeers(std::string_view prefix) {
  std::vector<ControlPeer> peers = FindControlPeers(prefix);
  std::erase_if(peers, [](const ControlPeer& peer) {
    if (!peer.trusted) {
      fmt::print(stderr,
                 "walrelay: warning: process {} of user {} is not asked, because it belongs to "
                 "another user and is not a service of the system. If it is your relay, run this "
                 "command as its user: setpriv --reuid={} --clear-groups walrelay ...\n",
                 peer.pid, peer.user, peer.user);
    }
    return !peer.trusted;
  });
  return peers;
}

absl::StatusOr<std::vector<ControlPeer>> FindLocalRelays(const SourceConfig& source) {
  std::vector<ControlPeer> peers =
      TrustedPeers(ControlPrefix(source.slot, source.dsn.empty() ? "" : DescribeDsnAlone(source)));
  if (peers.empty()) {
    return Error(ErrorCode::kRelaySilent,
                 fmt::format("no relay of slot {} runs on this host as this user", source.slot),
                 "Run it where walrelay run runs (kubectl exec, docker exec), with the same "
                 "configuration, as the same user; or as root, if systemd runs the relay.");
  }
  return peers;
}

void ReportSkipped(const ControlPeer& peer, const absl::Status& error) {
  fmt::print(stderr, "walrelay: warning: process {} of user {} is skipped: {}\n", peer.pid,
             peer.user, Printable(MessageOf(error)));
}

std::string PrintableLines(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(indent).append(Printable(text.substr(0, end), text.size())).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace walrelay

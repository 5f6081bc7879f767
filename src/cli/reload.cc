// `walrelay reload`: makes the process on this host read its configuration again.

#include <fmt/format.h>

#include <algorithm>

#include "admin/control_socket.h"
#include "cli/commands.h"
#include "cli/config_directory.h"
#include "cli/local_relays.h"

namespace walrelay {
namespace {

struct ReloadFlags {
  ConfigFlags config;  // only `file` is used
  std::string config_dir;
};

void Declare(FlagSet& set, ReloadFlags& flags) {
  set.Add("-c,--config", flags.config.file, "FILE",
          "The configuration file with which the process was started");
  AddConfigDirFlag(set, flags.config_dir, "The directory with which the process was started");
}

// The first line of an answer is for programs (daemon/daemon.cc), the rest for the operator.
ExitCode ReloadProcess(const ControlPeer& peer) {
  const auto answer = SendControlRequest(peer, "reload");
  if (!answer.ok()) {
    return Report(answer.status());
  }
  const size_t line = std::min(answer->find('\n'), answer->size());
  const std::string_view word = std::string_view(*answer).substr(0, line);
  fmt::print("{}",
             PrintableLines(std::string_view(*answer).substr(std::min(line + 1, answer->size()))));
  return word == "failed" ? ExitCode::kConfiguration : ExitCode::kOk;
}

absl::StatusOr<ExitCode> Execute(const ReloadFlags& flags) {
  AnnounceConfig(flags.config_dir.empty()
                     ? FindConfigFile(flags.config)
                     : FoundConfig{.path = flags.config_dir, .how = "--config-dir"});
  const std::string path = ConfigPath(flags.config_dir, flags.config);
  const auto peers = TrustedPeers(ProcessControlPrefix(path));
  if (peers.empty()) {
    return Error(
        ErrorCode::kRelaySilent,
        fmt::format("no walrelay process with the configuration {} runs on this host as this user",
                    path.empty() ? "without a file" : path),
        "Run it where walrelay run runs (kubectl exec, docker exec), with the same --config or "
        "--config-dir, as the same user; or send SIGHUP to the process.");
  }
  ExitCode code = ExitCode::kOk;
  for (const ControlPeer& peer : peers) {
    const ExitCode one = ReloadProcess(peer);
    code = static_cast<int>(one) > static_cast<int>(code) ? one : code;
  }
  return code;
}

}  // namespace

// Uses the control sockets of the processes of this user on this host. 0: the configuration was
// applied; 78: a part of it is invalid; 69: no process answers.
Command ReloadCommand() {
  return MakeCommand<ReloadFlags>(
      "reload",
      "Make the process on this host read its configuration again, and print what changes", Declare,
      Execute);
}

}  // namespace walrelay

// `walrelay resume`: shows the gap at which the relay on this host is on hold, and accepts it.

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "admin/control_socket.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/local_relays.h"

namespace walrelay {
namespace {

struct ResumeFlags {
  ConfigFlags config;
  bool accept = false;
  std::string gap;  // the gap to accept; "": the gap that is shown
};

void Declare(FlagSet& set, ResumeFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.AddWithOptionalValue("--accept-gap", flags.accept, flags.gap, "[ID]",
                           "Continue without the events that may be missing in the gap shown; with "
                           "ID, only if it is that gap");
}

// The relay checks the source again before it continues, which may take two connections.
constexpr std::chrono::seconds kResumeTimeout{30};
// Between two requests for the outcome.
constexpr std::chrono::milliseconds kPollInterval{200};

// A relay's answer about its gap: admin/gap_control.h.
struct Reply {
  std::string what;
  std::string id;
  int64_t checks = 0;
  std::string text;
  std::string accepted;  // the id of the gap that was accepted last
};

// The first line of an answer is for programs, the rest for the operator. Missing words leave their
// members empty or 0.
absl::StatusOr<Reply> SendRequest(const ControlPeer& peer, std::string_view request) {
  WR_ASSIGN_OR_RETURN(const std::string answer, SendControlRequest(peer, request));
  const size_t line = std::min(answer.find('\n'), answer.size());
  Reply reply{.what = "",
              .id = "",
              .text = answer.substr(std::min(line + 1, answer.size())),
              .accepted = ""};
  std::istringstream words(answer.substr(0, line));
  words >> reply.what >> reply.id >> reply.checks >> reply.accepted;
  return reply;
}

void Print(const ControlPeer& peer, std::string_view text) {
  fmt::print("process {} of user {}:\n{}", peer.pid, peer.user, PrintableLines(text, "  "));
}

// Waits until the relay has checked the source again, and continues or is on hold at another gap.
ExitCode AwaitOutcome(const ControlPeer& peer, const std::string& id, int64_t checks) {
  const auto deadline = std::chrono::steady_clock::now() + kResumeTimeout;
  std::string last;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto reply = SendRequest(peer, "show");
    if (!reply.ok()) {
      return Report(reply.status());
    }
    if (reply->what == "none") {
      fmt::print("Gap {} is accepted.\n", id);
      Print(peer, reply->text);
      return ExitCode::kOk;
    }
    // `checks` counts how often the relay has checked the source. Until it increases, the reply
    // describes the state before the acceptance.
    const bool other = reply->id != id;
    if (other && reply->accepted == id) {
      fmt::print("Gap {} is accepted. The relay has found another one since.\n", id);
      Print(peer, reply->text);
      return ExitCode::kProblemsFound;
    }
    if (other || (reply->what == "blocked" && reply->checks > checks)) {
      fmt::print(
          "Gap {} was not accepted{}.\n", id,
          other ? ": the relay has found another one" : ": another problem must be fixed first");
      Print(peer, reply->text);
      return ExitCode::kProblemsFound;
    }
    last = reply->text;
    std::this_thread::sleep_for(kPollInterval);
  }
  fmt::print("Gap {} is accepted, but the relay has not been able to continue yet.\n", id);
  Print(peer, last);
  return ExitCode::kOk;
}

ExitCode Accept(const ControlPeer& peer, const std::string& id) {
  const auto reply = SendRequest(peer, fmt::format("accept {}", id));
  if (!reply.ok()) {
    return Report(reply.status());
  }
  // Accepting is asynchronous: the relay's thread continues only after it has checked the source
  // once more.
  if (reply->what == "accepting") {
    return AwaitOutcome(peer, id, reply->checks);
  }
  Print(peer, reply->text);
  // No gap is held any more: what the operator wants is already the case.
  return reply->what == "none" ? ExitCode::kOk : ExitCode::kProblemsFound;
}

// The exit codes are in ascending order: 0 (continues), 3 (a gap is held), 69 and above (errors).
ExitCode Worse(ExitCode a, ExitCode b) {
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

// The answers of the relays.
struct Shown {
  std::vector<ControlPeer> peers;
  bool held = false;
  std::string id;    // of the last gap
  bool same = true;  // all gaps have this id
};

// Shows each relay's gap. One that does not answer does not keep the operator from the others.
Shown ShowAll(const std::vector<ControlPeer>& peers) {
  Shown shown;
  for (const ControlPeer& peer : peers) {
    const auto reply = SendRequest(peer, "show");
    if (!reply.ok()) {
      ReportSkipped(peer, reply.status());
      continue;
    }
    Print(peer, reply->text);
    shown.peers.push_back(peer);
    if (reply->what == "held" || reply->what == "blocked") {
      shown.same = shown.same && (shown.id.empty() || shown.id == reply->id);
      shown.id = reply->id;
      shown.held = true;
    }
  }
  return shown;
}

absl::StatusOr<ExitCode> Resume(const ResumeFlags& flags, const std::vector<ControlPeer>& peers) {
  const Shown shown = ShowAll(peers);
  if (shown.peers.empty()) {
    return Error(ErrorCode::kRelaySilent, "no relay of this slot answers");
  }
  if (!shown.held) {
    return ExitCode::kOk;
  }
  const std::string common = shown.same ? shown.id : "";
  const std::string id = flags.gap.empty() ? common : flags.gap;
  if (!flags.accept || id.empty()) {
    // Without an id only a gap that was shown is accepted: the operator must have read it.
    fmt::print("{}\n", flags.accept ? "The relays are on hold at different gaps; name one: "
                                      "walrelay resume --accept-gap ID"
                                    : "To give up what is missing, and continue: "
                                      "walrelay resume --accept-gap");
    return ExitCode::kProblemsFound;
  }
  ExitCode code = ExitCode::kOk;
  for (const ControlPeer& peer : shown.peers) {
    code = Worse(code, Accept(peer, id));
  }
  return code;
}

absl::StatusOr<ExitCode> Execute(const ResumeFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, flags.accept);
  // The command connects to the relay only. Slot and DSN are used to find the socket's name.
  config_flags.needs = {.postgres = false, .kafka = false};
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config_flags));
  WR_ASSIGN_OR_RETURN(const std::vector<ControlPeer> relays, FindLocalRelays(loaded.config.source));
  return Resume(flags, relays);
}

}  // namespace

// Uses the control sockets of the relays of this user on this host; no HTTP. 0: no gap is held, or
// it was accepted; 3: a gap is held, or another problem must be fixed first; 69: no relay answers.
// After an acceptance it waits up to 30 seconds for the relay's next check of the source.
Command ResumeCommand() {
  return MakeCommand<ResumeFlags>(
      "resume",
      "Show the gap at which the relay on this host is on hold; --accept-gap lets it continue. "
      "Exit code 0: no gap is held, 3: a gap is held",
      Declare, Execute);
}

}  // namespace walrelay

#include "relay/status_board.h"

namespace walrelay {

std::string_view NameOf(RelayState state) {
  switch (state) {
    case RelayState::kStarting:
      return "starting";
    case RelayState::kStandby:
      return "standby";
    case RelayState::kCatchingUp:
      return "catching_up";
    case RelayState::kStreaming:
      return "streaming";
    case RelayState::kDegraded:
      return "degraded";
    case RelayState::kBlocked:
      return "blocked";
    case RelayState::kDraining:
      return "draining";
    case RelayState::kStopped:
      return "stopped";
  }
  return "?";
}

bool IsReady(RelayState state) {
  return state == RelayState::kStandby || state == RelayState::kCatchingUp ||
         state == RelayState::kStreaming;
}

}  // namespace walrelay

#include "status/systemd_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>

namespace walrelay {
namespace {

// systemd's variables; anything else than a number counts as absent.
std::optional<int64_t> NumberIn(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view text = value != nullptr ? value : "";
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// WATCHDOG_PID protects a child process, which inherits the variables, from notifying in its
// parent's name.
std::optional<Micros> Watchdog() {
  // In microseconds: sd_watchdog_enabled(3).
  const auto interval = NumberIn("WATCHDOG_USEC");
  const auto pid = NumberIn("WATCHDOG_PID");
  if (!interval || *interval <= 0 || (pid && *pid != ::getpid())) {
    return std::nullopt;
  }
  return Micros(*interval);
}

}  // namespace

// "@" begins an abstract name. vsock addresses, which systemd has too, are not supported.
SystemdNotifier SystemdNotifier::FromEnvironment() {
  SystemdNotifier manager;
  const char* address = std::getenv("NOTIFY_SOCKET");
  const std::string_view text = address != nullptr ? address : "";
  // An address that is too long for sockaddr_un cannot be used; the service then runs without
  // notifications.
  const bool usable = (text.starts_with('/') || text.starts_with('@')) &&
                      text.size() < sizeof(sockaddr_un::sun_path);
  if (usable) {
    manager.socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    manager.address_ = text;
    manager.watchdog_ = Watchdog();
  }
  return manager;
}

SystemdNotifier SystemdNotifier::Through(std::function<void(std::string_view)> send,
                                         std::optional<Micros> watchdog) {
  SystemdNotifier manager;
  manager.send_ = std::move(send);
  manager.watchdog_ = watchdog;
  return manager;
}

void SystemdNotifier::Notify(std::string_view assignments) const {
  if (!listens()) {
    return;
  }
  if (send_ != nullptr) {
    send_(assignments);
    return;
  }
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::copy(address_.begin(), address_.end(), to.sun_path);
  // An abstract name begins with a zero byte (unix(7)); its length, and no terminating zero, ends
  // it.
  if (to.sun_path[0] == '@') {
    to.sun_path[0] = '\0';
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // Best effort: a service manager that does not read must not delay events.
  (void)::sendto(socket_.get(), assignments.data(), assignments.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), size);
}

}  // namespace walrelay

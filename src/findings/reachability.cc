#include "findings/reachability.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace walrelay {
namespace {

struct AddressDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressDeleter>;

absl::Status Because(int error) {
  return absl::UnavailableError(std::generic_category().message(error));
}

// `address` is "host:port" or "[IPv6]:port". The lookup blocks for as long as the system's resolver
// waits (resolv.conf); no timeout of this file applies to it.
absl::StatusOr<Addresses> Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return absl::UnavailableError("the address has no port");
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  // Without a type getaddrinfo() returns each address once per type of socket.
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        fmt::format("cannot resolve the name: {}", ::gai_strerror(error)));
  }
  return Addresses(found);
}

// Non-blocking, because a blocking connect() waits for the kernel's timeout, which is about two
// minutes.
absl::StatusOr<UniqueFd> Connect(const addrinfo& to, Micros timeout) {
  UniqueFd socket(
      ::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol));
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) {
    return socket;
  }
  if (errno != EINPROGRESS) {
    return Because(errno);
  }
  pollfd polled{socket.get(), POLLOUT, 0};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  if (::poll(&polled, 1, static_cast<int>(millis.count())) <= 0) {
    return Because(ETIMEDOUT);
  }
  int error = 0;
  socklen_t size = sizeof(error);
  // A refused connection is writable, too: connect(2), EINPROGRESS.
  (void)::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    return Because(error);
  }
  return socket;
}

}  // namespace

absl::StatusOr<UniqueFd> Reach(const std::string& address, Micros timeout) {
  const auto found = Resolve(address);
  if (!found.ok()) {
    return found.status();
  }
  absl::StatusOr<UniqueFd> last = absl::UnavailableError("the name has no address");
  // A name may have an IPv6 address that is unreachable from here: one that answers is enough.
  for (const addrinfo* to = found->get(); to != nullptr; to = to->ai_next) {
    last = Connect(*to, timeout);
    if (last.ok()) {
      return last;
    }
  }
  return last;
}

}  // namespace walrelay

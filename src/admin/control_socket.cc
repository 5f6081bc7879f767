#include "admin/control_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kMaxBytes = 16 * 1024;  // of a request or an answer
// For each send and receive: a client that sends nothing must not block the next one.
constexpr timeval kTimeout{.tv_sec = 2, .tv_usec = 0};

constexpr std::chrono::seconds kPatience{2};
constexpr size_t kMaxName = sizeof(sockaddr_un{}.sun_path);

using SteadyTime = std::chrono::steady_clock::time_point;

// FNV-1a. The name need not be secret; it only has to be the same for the same database.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

// A sockaddr_un with the length that the name needs: in the abstract namespace the length is part
// of the name.
struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
};

// REQUIRES: the name fits into sun_path; slot names have at most 63 characters.
Address AddressOf(std::string_view name) {
  Address address;
  WR_CHECK(name.size() < sizeof(address.value.sun_path), "the name fits into the address");
  address.value.sun_family = AF_UNIX;
  // The first byte stays zero: the name is in the abstract namespace.
  std::memcpy(address.value.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// SEQPACKET keeps the boundaries of messages, so that no length or terminator is needed.
UniqueFd NewSocket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (fd.valid()) {
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout));
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof(kTimeout));
  }
  return fd;
}

// The kernel fills in the credentials at connect() or listen(); the peer cannot choose them.
std::optional<ucred> CredentialsOf(const UniqueFd& socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  const bool known =
      ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0;
  return known ? std::optional(credentials) : std::nullopt;
}

// "" for an error, a timeout and a closed connection: the caller treats them alike.
std::string Receive(const UniqueFd& socket) {
  std::string message(kMaxBytes, '\0');
  const ssize_t length = ::recv(socket.get(), message.data(), message.size(), 0);
  message.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return message;
}

bool Send(const UniqueFd& socket, std::string_view message) {
  message = message.substr(0, kMaxBytes);
  return ::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

// Waits while the queue of the listener is full, until the deadline: connect() itself would wait
// for as long as a process that never accepts wants. Not valid: errno has the reason.
UniqueFd ConnectTo(std::string_view name, SteadyTime deadline) {
  constexpr std::chrono::milliseconds kBetweenAttempts{5};
  UniqueFd fd = NewSocket();
  const Address address = AddressOf(name);
  if (!fd.valid() || ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    return UniqueFd();
  }
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.value), address.length) !=
         0) {
    if (errno != EAGAIN || std::chrono::steady_clock::now() >= deadline) {
      return UniqueFd();
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return ::fcntl(fd.get(), F_SETFL, 0) == 0 ? std::move(fd) : UniqueFd();
}

// Whether systemd runs the process as a service that is named like walrelay. Only an administrator
// can start one: what a user starts is in another slice, whatever its name is.
bool IsServiceOfTheSystem(pid_t pid) {
  std::ifstream groups(fmt::format("/proc/{}/cgroup", pid));
  for (std::string line; std::getline(groups, line);) {
    if (IsWalrelayService(line)) {
      return true;
    }
  }
  return false;
}

// Whether the listener may be believed, and be asked. Root must not believe every user.
bool IsTrusted(const ucred& peer) {
  const uid_t us = ::geteuid();
  return peer.uid == us || peer.uid == 0 || (us == 0 && IsServiceOfTheSystem(peer.pid));
}

}  // namespace

// "0::/system.slice/walrelay.service", or "1:name=systemd:..." of version 1.
bool IsWalrelayService(std::string_view line) {
  const size_t path = line.find(":/system.slice/");
  const std::string_view unit = line.substr(line.rfind('/') + 1);
  return path != std::string_view::npos && path == line.find(":/") &&
         unit.starts_with("walrelay") && unit.ends_with(".service");
}

std::string ControlPrefix(std::string_view slot, std::string_view source) {
  return source.empty() ? fmt::format("walrelay/{}/", slot)
                        : fmt::format("walrelay/{}/{:08x}/", slot, Hash(source));
}

std::string ProcessControlPrefix(std::string_view config) {
  return fmt::format("walrelay.process/{:08x}/", Hash(config));
}

// The random part is not a secret, because /proc/net/unix shows it; it only cannot be known before
// the relay binds it.
absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(const std::string& prefix,
                                                                    Handler handler) {
  std::random_device random;
  const std::string name = fmt::format("{}{:08x}", prefix, random());
  UniqueFd listener = NewSocket();
  const Address address = AddressOf(name);
  constexpr int kBacklog = 8;
  const bool listens = listener.valid() &&
                       ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.value),
                              address.length) == 0 &&
                       ::listen(listener.get(), kBacklog) == 0;
  if (!listens) {
    return Error(ErrorCode::kControlSocket, fmt::format("@{}: {}", name, std::strerror(errno)));
  }
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(listener), std::move(handler)));
}

ControlServer::ControlServer(UniqueFd listener, Handler handler)
    : listener_(std::move(listener)),
      handler_(std::move(handler)),
      stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_(InLogScope([this] { Run(); })) {}

ControlServer::~ControlServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

// One connection after the other: requests are rare, and each ends within the timeouts.
void ControlServer::Run() {
  while (true) {
    pollfd polled[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    (void)::poll(polled, 2, -1);
    if (polled[0].revents != 0) {
      return;
    }
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) {
      Serve(client);
    }
  }
}

// Before anything is read from it.
void ControlServer::Serve(const UniqueFd& client) const {
  const auto peer = CredentialsOf(client);
  if (!peer || (peer->uid != 0 && peer->uid != ::geteuid())) {
    LogWarning("control_refused", "rejected a control request of another user",
               {{"uid", peer ? static_cast<int64_t>(peer->uid) : -1}});
    return;
  }
  (void)::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout));
  (void)::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof(kTimeout));
  const std::string request = Receive(client);
  if (!request.empty()) {
    (void)Send(client, handler_(request));
  }
}

// /proc/self/net/unix lists the sockets of this network namespace; abstract names start with @.
// Connecting is the only way to learn the credentials of a listener.
std::vector<ControlPeer> FindControlPeers(std::string_view prefix) {
  std::set<std::string> names;
  std::ifstream sockets("/proc/self/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find('@');
    // Connections that the relay has accepted are listed under the name of its socket too.
    if (at != std::string::npos && std::string_view(line).substr(at + 1).starts_with(prefix)) {
      names.insert(line.substr(at + 1));
    }
  }
  std::vector<ControlPeer> peers;
  // For all of them together: other users may bind many names.
  const SteadyTime deadline = std::chrono::steady_clock::now() + kPatience;
  for (const std::string& name : names) {
    // The kernel truncates nothing, but a name of another kind could be longer.
    const UniqueFd connection = name.size() < kMaxName ? ConnectTo(name, deadline) : UniqueFd();
    const auto credentials = connection.valid() ? CredentialsOf(connection) : std::nullopt;
    if (credentials) {
      peers.push_back({.name = name,
                       .pid = credentials->pid,
                       .user = credentials->uid,
                       .trusted = IsTrusted(*credentials)});
    }
  }
  return peers;
}

// Checked again: the process may have ended since FindControlPeers(), and another one may have
// bound its name.
absl::StatusOr<std::string> SendControlRequest(const ControlPeer& peer, std::string_view request) {
  const UniqueFd connection = ConnectTo(peer.name, std::chrono::steady_clock::now() + kPatience);
  const auto credentials = connection.valid() ? CredentialsOf(connection) : std::nullopt;
  if (!credentials || credentials->uid != peer.user) {
    return Error(ErrorCode::kRelaySilent, fmt::format("process {} has ended", peer.pid));
  }
  if (!IsTrusted(*credentials)) {
    return Error(ErrorCode::kRelaySilent,
                 fmt::format("process {} of user {} is not trusted", peer.pid, peer.user));
  }
  std::string answer = Send(connection, request) ? Receive(connection) : "";
  if (answer.empty()) {
    return Error(ErrorCode::kRelaySilent, fmt::format("process {} does not answer", peer.pid));
  }
  return answer;
}

}  // namespace walrelay

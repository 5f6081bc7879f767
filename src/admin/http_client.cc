#include "admin/http_client.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "admin/listen_address.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kMostBytes = 8 << 20;

// One exchange on a socket of its own.
class Exchange {
 public:
  Exchange(std::string_view listen, Micros timeout)
      : listen_(listen), deadline_(std::chrono::steady_clock::now() + timeout) {}

  absl::Status Connect() {
    const auto address = ListenAddress::Parse(listen_);
    if (!address) {
      return Error(ErrorCode::kHttpListen,
                   fmt::format("\"{}\" is not address:port", Printable(listen_, 80)));
    }
    const ListenAddress peer = address->ForClients();
    socket_.reset(::socket(peer.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket_.get(), peer.get(), peer.size()) != 0 && errno != EINPROGRESS) {
      return Silent(std::strerror(errno));
    }
    WR_RETURN_IF_ERROR(Wait(POLLOUT));
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? absl::OkStatus() : Silent(std::strerror(error));
  }

  // A request is far smaller than a new socket's buffer.
  absl::Status Send(std::string_view request) {
    const ssize_t sent = ::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL);
    return sent == static_cast<ssize_t>(request.size()) ? absl::OkStatus()
                                                        : Silent("the request was not taken");
  }

  absl::StatusOr<std::string> ReadToEnd() {
    std::string answer;
    std::array<char, 16'384> buffer{};
    while (answer.size() <= kMostBytes) {
      WR_RETURN_IF_ERROR(Wait(POLLIN));
      const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count == 0) {
        return answer;
      }
      if (count < 0 && errno != EAGAIN && errno != EINTR) {
        return Silent(std::strerror(errno));
      }
      answer.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return Silent("the answer does not end");
  }

  absl::Status Silent(std::string_view why) const {
    return Error(ErrorCode::kRelaySilent, fmt::format("{}: {}", Printable(listen_, 80), why));
  }

 private:
  absl::Status Wait(short events) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    pollfd wanted{socket_.get(), events, 0};
    const int ready = left.count() > 0 ? ::poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    return ready != 0 ? absl::OkStatus() : Silent("no answer in time");
  }

  std::string_view listen_;
  SteadyTime deadline_;
  UniqueFd socket_;
};

// "HTTP/1.1 200 OK", headers, an empty line, the body; nullopt for anything else.
std::optional<HttpAnswer> ParseAnswer(std::string_view text) {
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr std::string_view kEndOfHeaders = "\r\n\r\n";
  const size_t status = kVersion.size() + 2;
  const size_t end = text.find(kEndOfHeaders);
  if (!text.starts_with(kVersion) || end == std::string_view::npos || end < status + 3) {
    return std::nullopt;
  }
  HttpAnswer answer;
  const char* digits = text.data() + status;
  if (std::from_chars(digits, digits + 3, answer.status).ptr != digits + 3) {
    return std::nullopt;
  }
  answer.body = text.substr(end + kEndOfHeaders.size());
  return answer;
}

}  // namespace

absl::StatusOr<HttpAnswer> HttpGet(std::string_view listen, std::string_view path, Micros timeout) {
  Exchange exchange(listen, timeout);
  WR_RETURN_IF_ERROR(exchange.Connect());
  // HTTP/1.0: the answer ends with the connection, and comes in one piece.
  WR_RETURN_IF_ERROR(exchange.Send(fmt::format("GET {} HTTP/1.0\r\nHost: walrelay\r\n\r\n", path)));
  WR_ASSIGN_OR_RETURN(const std::string text, exchange.ReadToEnd());
  auto answer = ParseAnswer(text);
  if (!answer) {
    return exchange.Silent("what answers does not speak HTTP");
  }
  return *std::move(answer);
}

}  // namespace walrelay

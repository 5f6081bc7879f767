// An HTTP/1.1 client for the loopback interface that can also send invalid requests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace walrelay::testing {

struct HttpAnswer {
  int status = 0;  // 0: the connection was closed without an answer
  std::string headers;
  std::string body;
};

class HttpConnection {
 public:
  explicit HttpConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval timeout{60, 0};  // only a broken test waits this long
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  // Sends until the server closes the connection; an early close is not an error.
  HttpConnection& Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        break;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return *this;
  }

  // Whether the server keeps the connection open for `time`. Discards what it sends.
  bool IsOpenFor(std::chrono::milliseconds time) {
    pollfd wanted{socket_.get(), POLLIN, 0};
    char chunk[4096];
    return ::poll(&wanted, 1, static_cast<int>(time.count())) == 0 ||
           ::recv(socket_.get(), chunk, sizeof(chunk), 0) > 0;
  }

  // Reads until the server closes the connection.
  std::string ReadToEnd() {
    std::string text;
    char chunk[4096];
    ssize_t size = 0;
    while ((size = ::recv(socket_.get(), chunk, sizeof(chunk), 0)) > 0) {
      text.append(chunk, static_cast<size_t>(size));
    }
    EXPECT_FALSE(size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "no response";
    return text;
  }

  // Reads one response, until the server closes the connection.
  HttpAnswer ReadAnswer() {
    const std::string text = ReadToEnd();
    if (!text.starts_with("HTTP/1.")) {
      return {};
    }
    const size_t end = std::min(text.find("\r\n\r\n"), text.size() - 4);
    return {.status = std::atoi(text.c_str() + sizeof("HTTP/1.1 ") - 1),
            .headers = text.substr(0, end + 2),
            .body = text.substr(end + 4)};
  }

 private:
  UniqueFd socket_;
};

inline std::string HttpRequest(std::string_view method, std::string_view path,
                               std::string_view more_headers = "") {
  return std::string(method)
      .append(" ")
      .append(path)
      .append(" HTTP/1.1\r\nHost: localhost\r\n")
      .append("Connection: close\r\n")
      .append(more_headers)
      .append("\r\n");
}

inline HttpAnswer HttpAsk(int port, std::string_view method, std::string_view path) {
  return HttpConnection(port).Send(HttpRequest(method, path)).ReadAnswer();
}

}  // namespace walrelay::testing

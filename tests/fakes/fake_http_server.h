// An HTTP server on loopback whose answers a function of the test gives.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cctype>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace walrelay::testing {

class FakeHttpServer {
 public:
  // Names of headers are in lower case.
  struct Request {
    std::string method;
    std::string path;  // with the query
    std::map<std::string, std::string> headers;
    std::string body;
  };
  struct Answer {
    int status = 200;
    std::string body;
  };

  // `answer` is called on the server's thread, one request at a time.
  explicit FakeHttpServer(std::function<Answer(const Request&)> answer)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    ::getsockname(socket_.get(), generic, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  // accept() returns when the socket is shut down.
  ~FakeHttpServer() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Run() {
    for (;;) {
      const UniqueFd peer(::accept(socket_.get(), nullptr, nullptr));
      if (!peer.valid()) {
        return;
      }
      const Request request = Read(peer.get());
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const Answer answer = answer_(request);
      const std::string text =
          "HTTP/1.1 " + std::to_string(answer.status) +
          " X\r\nConnection: close\r\nContent-Length: " + std::to_string(answer.body.size()) +
          "\r\n\r\n" + answer.body;
      (void)::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }

  static Request Read(int peer) {
    std::string text;
    char chunk[4096];
    size_t head = std::string::npos;
    ssize_t size = 0;
    while ((head = text.find("\r\n\r\n")) == std::string::npos &&
           (size = ::recv(peer, chunk, sizeof(chunk), 0)) > 0) {
      text.append(chunk, static_cast<size_t>(size));
    }
    Request request;
    request.method = text.substr(0, text.find(' '));
    const size_t path = request.method.size() + 1;
    request.path = text.substr(path, text.find(' ', path) - path);
    for (size_t at = text.find("\r\n") + 2; at < head;) {
      const size_t colon = text.find(": ", at);
      const size_t end = text.find("\r\n", at);
      std::string name = text.substr(at, colon - at);
      for (char& c : name) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      request.headers[name] = text.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    request.body = text.substr(head + 4);
    const auto length = static_cast<size_t>(std::atoi(request.headers["content-length"].c_str()));
    while (request.body.size() < length && (size = ::recv(peer, chunk, sizeof(chunk), 0)) > 0) {
      request.body.append(chunk, static_cast<size_t>(size));
    }
    return request;
  }

  const UniqueFd socket_;
  const std::function<Answer(const Request&)> answer_;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace walrelay::testing

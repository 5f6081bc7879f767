#include "http/http_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "base/unique_fd.h"
#include "fakes/status_matchers.h"
#include "http/http_server.h"
#include "http/listen_address.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string AddressOf(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

// Accepts one connection and passes it to a function of the test.
class RudeServer {
 public:
  explicit RudeServer(std::function<void(int)> behave)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto any = ListenAddress::Parse("127.0.0.1:0");
    EXPECT_EQ(::bind(socket_.get(), any->get(), any->size()), 0);
    EXPECT_EQ(::listen(socket_.get(), 1), 0);
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.sin_port);
    thread_ = std::thread([this, behave = std::move(behave)] {
      const UniqueFd peer(::accept(socket_.get(), nullptr, nullptr));
      behave(peer.get());
    });
  }
  ~RudeServer() { thread_.join(); }
  std::string address() const { return AddressOf(port_); }

 private:
  UniqueFd socket_;
  int port_ = 0;
  std::thread thread_;
};

// Reads the request first: closing a socket with unread data resets the connection.
void Say(int peer, std::string_view text) {
  char request[512];
  (void)::recv(peer, request, sizeof(request), 0);
  (void)::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
}

TEST(HttpGetTest, StatusAndBodyAreReturned) {
  const auto server = HttpServer::Start(
      "127.0.0.1:0",
      {{"/page", [](const PageRequest&) { return HttpResponse{.body = "a\r\n\r\nb"}; }}});
  ASSERT_THAT(server, IsOk());
  const auto page = HttpGet(AddressOf((*server)->port()), "/page", seconds(30));
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->status, 200u);
  EXPECT_EQ(page->body, "a\r\n\r\nb");
  EXPECT_EQ(HttpGet(AddressOf((*server)->port()), "/other", seconds(30))->status, 404u);
}

TEST(HttpGetTest, LongResponseIsReturnedCompletely) {
  const std::string body(3 << 20, 'x');
  const auto server = HttpServer::Start(
      "127.0.0.1:0", {{"/", [&](const PageRequest&) { return HttpResponse{.body = body}; }}});
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ(HttpGet(AddressOf((*server)->port()), "/", seconds(30))->body, body);
}

TEST(HttpGetTest, RefusedConnectionIsReported) {
  const auto address = FreeLoopbackAddress();
  ASSERT_THAT(address, IsOk());
  EXPECT_THAT(HttpGet(*address, "/", seconds(30)),
              HasError(ErrorCode::kRelaySilent, "cannot connect"));
}

TEST(HttpGetTest, InvalidAddressIsReported) {
  EXPECT_THAT(HttpGet("nowhere", "/", seconds(1)), HasError(ErrorCode::kHttpListen));
}

TEST(HttpGetTest, SilentServerTimesOut) {
  RudeServer server([](int peer) {
    char byte = 0;
    while (::recv(peer, &byte, 1, 0) > 0) {
    }
  });
  EXPECT_THAT(HttpGet(server.address(), "/", milliseconds(50)),
              HasError(ErrorCode::kRelaySilent, "timed out"));
}

TEST(HttpGetTest, ResponseThatIsNotHttpIsNotShown) {
  for (const char* text :
       {"", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 xyz\r\n\r\n", "HTTP/1.\r\n\r\n"}) {
    RudeServer server([&](int peer) { Say(peer, text); });
    EXPECT_THAT(HttpGet(server.address(), "/", seconds(30)),
                HasError(ErrorCode::kRelaySilent, "not an HTTP response"))
        << text;
  }
}

TEST(HttpGetTest, EndlessResponseIsRefused) {
  RudeServer server([](int peer) {
    Say(peer, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string flood(1 << 20, 'x');
    while (::send(peer, flood.data(), flood.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  EXPECT_THAT(HttpGet(server.address(), "/", seconds(30)),
              HasError(ErrorCode::kRelaySilent, "response too large"));
}

}  // namespace
}  // namespace walrelay

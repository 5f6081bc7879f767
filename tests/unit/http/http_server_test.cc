#include "http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "fakes/http_client.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::HttpAnswer;
using testing::HttpConnection;
using testing::HttpRequest;
using ::testing::Not;

constexpr int kMaxConnections = 64;

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    auto server = HttpServer::Start(
        "127.0.0.1:0", {{"/page",
                         [this](const PageRequest& request) {
                           ++calls_;
                           return HttpResponse{.body = request.verbose        ? "more\n"
                                                       : request.foreign_host ? "foreign\n"
                                                                              : "page\n"};
                         }},
                        {"/down", [](const PageRequest&) {
                           return HttpResponse{
                               .status = 503, .content_type = "text/x", .body = "down\n"};
                         }}});
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  HttpConnection Connect() const { return HttpConnection(server_->port()); }
  HttpAnswer Ask(std::string_view method, std::string_view path) const {
    return testing::HttpAsk(server_->port(), method, path);
  }
  HttpAnswer Get(std::string_view path) const { return Ask("GET", path); }
  // The response to these bytes.
  HttpAnswer Raw(std::string_view bytes) const { return Connect().Send(bytes).ReadAnswer(); }
  void ExpectStillServing() const { EXPECT_EQ(Get("/page").body, "page\n"); }

  std::atomic<int> calls_{0};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, PageIsServedAndNeverCached) {
  const HttpAnswer answer = Get("/page");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "page\n");
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer.headers, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer.headers, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(answer.headers, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
}

TEST_F(HttpServerTest, StatusAndContentTypeAreThoseOfThePage) {
  const HttpAnswer answer = Get("/down");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "down\n");
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: text/x\r\n"));
}

TEST_F(HttpServerTest, VerboseQueryRequestsDetails) {
  for (const char* path :
       {"/page?verbose", "/page?verbose=1", "/page?a=b&verbose", "/page?verbose="}) {
    EXPECT_EQ(Get(path).body, "more\n") << path;
  }
  for (const char* path : {"/page?", "/page?verbos", "/page?a=verbose", "/page?verbosely"}) {
    EXPECT_EQ(Get(path).body, "page\n") << path;
  }
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  const HttpAnswer answer = Ask("HEAD", "/page");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(Ask("HEAD", "/nowhere").status, 404);
}

TEST_F(HttpServerTest, UnknownPathsAreNotFoundAndNotEchoed) {
  for (const char* path : {"/", "/nowhere<script>", "/page/", "/Page", "//page", "/./page",
                           "/x/../page", "/..%2fpage", "/page%20", "*", "http://other/page2"}) {
    const HttpAnswer answer = Get(path);
    EXPECT_THAT(answer.status, AnyOf(404, 400)) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("script"))) << path;
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpServerTest, OtherMethodsAreRefusedAndCallNoPage) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get",
                             "FROBNICATE", "GETT"}) {
    const HttpAnswer answer = Ask(method, "/page");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_THAT(answer.headers, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
  EXPECT_EQ(Ask("DELETE", "/nowhere").status, 405);
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpServerTest, BodiesAreNotRead) {
  for (const char* body : {"Content-Length: 5\r\n\r\nhello", "Content-Length: 99999999999\r\n\r\nx",
                           "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
    EXPECT_EQ(
        Raw("POST /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + std::string(body)).status,
        405);
  }
  EXPECT_EQ(calls_, 0);
  ExpectStillServing();
}

// Otherwise a peer that keeps its connections open could block others.
TEST_F(HttpServerTest, ConnectionClosesAfterTheResponse) {
  const std::string request = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(Raw(request).body, "page\n");
  EXPECT_EQ(Raw(request + request).body, "page\n");
}

TEST_F(HttpServerTest, RequestMayArriveByteByByte) {
  HttpConnection connection = Connect();
  for (const char byte : HttpRequest("GET", "/page")) {
    connection.Send({&byte, 1});
  }
  EXPECT_EQ(connection.ReadAnswer().body, "page\n");
}

// --- misbehaving peers ---

TEST_F(HttpServerTest, LongRequestsAreRefused) {
  const std::string kilobytes(100'000, 'a');
  for (const std::string& request :
       {HttpRequest("GET", "/" + kilobytes), HttpRequest("GET", "/page?" + kilobytes),
        HttpRequest("GET", "/page", "X-A: " + kilobytes + "\r\n"), HttpRequest(kilobytes, "/page"),
        kilobytes}) {
    EXPECT_THAT(Raw(request).status, AnyOf(0, 400, 413, 414, 431)) << request.substr(0, 20);
    ExpectStillServing();
  }
}

TEST_F(HttpServerTest, ManyHeadersAreRefused) {
  std::string headers;
  for (int i = 0; i < 5'000; ++i) {
    headers += "X-" + std::to_string(i) + ": b\r\n";
  }
  EXPECT_THAT(Raw(HttpRequest("GET", "/page", headers)).status, AnyOf(0, 400, 413, 414, 431));
  ExpectStillServing();
}

TEST_F(HttpServerTest, InvalidHttpIsRefused) {
  for (const std::string_view bytes :
       {std::string_view("\r\n\r\n\r\n\r\n"), std::string_view("GET\r\n\r\n"),
        std::string_view("GET /page\r\n\r\n"), std::string_view("GET /page HTTP/9.9\r\n\r\n"),
        std::string_view("\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03\r\n\r\n", 15)}) {
    HttpConnection connection = Connect();
    connection.Send(bytes);
    connection.Send(HttpRequest("GET", "/down"));  // ends an incomplete request
    (void)connection.ReadToEnd();
    ExpectStillServing();
  }
}

TEST_F(HttpServerTest, RandomBytesDoNotStopTheServer) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = HttpRequest("GET", "/page?verbose=%41");
    for (int i = 0; i < 5; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Connect().Send(bytes);
  }
  ExpectStillServing();
}

TEST_F(HttpServerTest, ZeroByteInAPathReachesNoOtherPage) {
  EXPECT_THAT(Get("/nowhere%00/page").status, AnyOf(400, 404));
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpServerTest, DisconnectedPeersAreForgotten) {
  for (int i = 0; i < 3 * kMaxConnections; ++i) {
    Connect();
    Connect().Send("GET /pa");
    Connect().Send(HttpRequest("GET", "/page"));
  }
  ExpectStillServing();
}

TEST_F(HttpServerTest, SilentPeersDoNotBlockOthers) {
  std::deque<HttpConnection> silent;
  for (int i = 0; i < kMaxConnections / 2; ++i) {
    silent.push_back(Connect());
    silent.back().Send("GET /page HTTP/1.1\r\nX: ");
  }
  ExpectStillServing();
}

// A failed probe makes an orchestrator kill a healthy relay. These peers never trigger an idle
// timeout: each sends a byte before each probe.
TEST_F(HttpServerTest, SlowPeersDoNotStarveAProbe) {
  std::deque<HttpConnection> slow;
  for (int i = 0; i < kMaxConnections; ++i) {
    slow.push_back(Connect());
    slow.back().Send("GET /page HTTP/1.1\r\nX: ");
  }
  for (int round = 0; round < 20; ++round) {
    for (HttpConnection& each : slow) {
      each.Send("a");
    }
    ExpectStillServing();
  }
}

TEST_F(HttpServerTest, ReconnectingSlowPeersDoNotStarveAProbe) {
  std::deque<HttpConnection> slow;
  for (int i = 0; i < 5 * kMaxConnections; ++i) {
    slow.push_back(Connect());
    slow.back().Send("GET /page HTTP/1.1\r\nX: ");
    if (i % 16 == 0) {
      ExpectStillServing();
    }
  }
}

// Takes the full ten seconds. The peer is never silent: each byte that it sends would restart an
// idle timeout.
TEST_F(HttpServerTest, ConnectionHasADeadline) {
  HttpConnection slow = Connect();
  slow.Send("GET /page HTTP/1.1\r\nX: ");
  while (slow.IsOpenFor(std::chrono::milliseconds(200))) {
    slow.Send("a");
  }
  ExpectStillServing();
}

// A web page of a foreign site sends that site's name as the host (DNS rebinding).
TEST_F(HttpServerTest, PageReceivesAForeignHostFlag) {
  const auto ask = [&](const std::string& host) {
    return Raw("GET /page HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n").body;
  };
  EXPECT_EQ(ask("evil.example.com"), "foreign\n");
  EXPECT_EQ(ask("evil.example.com:9464"), "foreign\n");
  EXPECT_EQ(ask("127.0.0.1:9464"), "page\n");
  EXPECT_EQ(ask("localhost"), "page\n");
  EXPECT_EQ(Raw("GET /page HTTP/1.0\r\n\r\n").body, "page\n");
}

TEST_F(HttpServerTest, ManyPeersAtOnceAreAllAnswered) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> peers;
  for (int peer = 0; peer < 8; ++peer) {
    peers.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        answered += Get("/page").status == 200 ? 1 : 0;
      }
    });
  }
  for (std::thread& peer : peers) {
    peer.join();
  }
  EXPECT_EQ(answered, 200);
  EXPECT_EQ(calls_, 200);
}

// The handlers may refer to what is not ready yet.
TEST(HttpServerStartTest, RequestsWaitUntilTheServerServes) {
  std::atomic<bool> ready = false;
  auto server = HttpServer::Listen("127.0.0.1:0",
                                   {{"/page", [&](const PageRequest&) {
                                       return HttpResponse{.body = ready ? "ready" : "too early"};
                                     }}});
  ASSERT_THAT(server, IsOk());
  HttpConnection connection((*server)->port());
  connection.Send(HttpRequest("GET", "/page"));
  EXPECT_TRUE(
      connection.IsOpenFor(std::chrono::milliseconds(200)));  // an answer would be read here
  ready = true;
  (*server)->Serve();
  EXPECT_EQ(connection.ReadAnswer().body, "ready");
}

TEST(HttpServerEndTest, DestructorWaitsForTheRunningPage) {
  std::promise<void> entered;
  std::promise<void> release;
  std::atomic<int> calls = 0;  // a stopping server may call the page again
  std::atomic<bool> finished = false;
  auto server = HttpServer::Start("127.0.0.1:0", {{"/page", [&](const PageRequest&) {
                                                     if (++calls == 1) {
                                                       entered.set_value();
                                                       release.get_future().wait();
                                                       finished = true;
                                                     }
                                                     return HttpResponse();
                                                   }}});
  ASSERT_THAT(server, IsOk());
  HttpConnection connection((*server)->port());
  connection.Send(HttpRequest("GET", "/page"));
  entered.get_future().wait();
  std::thread later([&] { release.set_value(); });
  server->reset();
  EXPECT_TRUE(finished);
  later.join();
}

// --- addresses ---

TEST(HttpListenTest, InvalidAddressIsRefusedByName) {
  for (const char* listen :
       {"", ":", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536",
        "127.0.0.1:x", "127.0.0.1:1x", "127.0.0.1: 1", "127.0.0:1", "256.0.0.1:1", "example.com:80",
        "[::1:80", "[::g]:80", "[]:80", "::1:80", " 127.0.0.1:80", "127.0.0.1 :80"}) {
    EXPECT_THAT(HttpServer::Start(listen, {}),
                HasError(ErrorCode::kHttpListen, "\"" + std::string(listen) + "\""));
  }
  EXPECT_THAT(HttpServer::Start("a\nb:1", {}), HasError(ErrorCode::kHttpListen, "a\\x0ab"));
}

TEST(HttpListenTest, EveryFormOfAnAddressIsAccepted) {
  for (const char* listen : {"127.0.0.1:0", "localhost:0", ":0", "0.0.0.0:0"}) {
    const auto server = HttpServer::Start(listen, {});
    ASSERT_THAT(server, IsOk()) << listen;
    EXPECT_EQ(testing::HttpAsk((*server)->port(), "GET", "/").status, 404) << listen;
  }
}

TEST(HttpListenTest, LoopbackIsNotReachedFromOutside) {
  const auto server = HttpServer::Start("127.0.0.2:0", {});
  ASSERT_THAT(server, IsOk());
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>((*server)->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
}

// Otherwise each probe and scrape would reach either of two processes.
TEST(HttpListenTest, AddressInUseIsRefused) {
  const auto first = HttpServer::Start("127.0.0.1:0", {});
  ASSERT_THAT(first, IsOk());
  const std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  EXPECT_THAT(HttpServer::Start(address, {}), HasError(ErrorCode::kHttpListen, "in use"));
}

// A restarted relay can use the port of its predecessor.
TEST(HttpListenTest, AddressIsReusableAtOnce) {
  auto first = HttpServer::Start("127.0.0.1:0", {});
  ASSERT_THAT(first, IsOk());
  const int port = (*first)->port();
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/").status, 404);
  first->reset();
  EXPECT_THAT(HttpServer::Start("127.0.0.1:" + std::to_string(port), {}), IsOk());
}

TEST(HttpListenTest, AddressOfAnotherMachineIsRefused) {
  EXPECT_THAT(HttpServer::Start("192.0.2.1:0", {}),
              HasError(ErrorCode::kHttpListen, "192.0.2.1:0: Cannot assign"));
}

TEST(HttpListenTest, FreeLoopbackAddressIsUsable) {
  const auto address = FreeLoopbackAddress();
  ASSERT_THAT(address, IsOk());
  EXPECT_THAT(*address, ::testing::StartsWith("127.0.0.1:"));
  EXPECT_THAT(HttpServer::Start(*address, {}), IsOk());
}

}  // namespace
}  // namespace walrelay

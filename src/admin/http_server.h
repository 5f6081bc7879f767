// HttpServer: a few pages for probes, scrapers and people; nothing that changes anything.
//
// GET and HEAD on fixed paths; requests of 8 KiB, 64 connections, five seconds of silence at most.
// Answers carry nothing of the request. Runs on a thread of its own (libmicrohttpd's), on which the
// handlers are called: they read what other threads published, and must not wait for them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct MHD_Daemon;

namespace walrelay {

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// `verbose`: the query asks for detail.
using HttpHandler = std::function<HttpResponse(bool verbose)>;

// "127.0.0.1:port" with a port that nobody listens on at this moment. Errors: WR-5002.
absl::StatusOr<std::string> FreeLoopbackAddress();

class HttpServer {
 public:
  // `listen`: "address:port", "[v6]:port", or ":port" for every address; port 0 takes a free one.
  // Errors: WR-5002 (HttpListen).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      std::string_view listen, std::map<std::string, HttpHandler> pages);
  // Waits for handlers under way.
  ~HttpServer();

  // The port that is listened on.
  int port() const;

  const std::map<std::string, HttpHandler>& pages() const { return pages_; }

 private:
  explicit HttpServer(std::map<std::string, HttpHandler> pages) : pages_(std::move(pages)) {}

  const std::map<std::string, HttpHandler> pages_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace walrelay

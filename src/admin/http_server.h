// HttpServer: a few pages for probes, scrapers and people; nothing that changes anything.
//
// GET and HEAD on fixed paths. A connection has one request of 8 KiB at most, five seconds of
// silence and ten seconds in all; a 17th connection of one peer, and a 49th of all, ends the
// oldest (ConnectionTable). Answers carry nothing of the request. Runs on a thread of its own, on
// which the handlers are called: they read what other threads published, and must not wait for
// them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "admin/connection_table.h"
#include "base/unique_fd.h"

struct MHD_Daemon;

namespace walrelay {

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct PageRequest {
  bool verbose = false;  // the query asks for detail
  // The Host is a name of the Internet: the page of a foreign site may be asking. Nothing of rows
  // is for it.
  bool foreign_host = false;
};

using HttpHandler = std::function<HttpResponse(const PageRequest&)>;

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
  struct Callbacks;  // libmicrohttpd's

  explicit HttpServer(std::map<std::string, HttpHandler> pages);
  void Run();

  const std::map<std::string, HttpHandler> pages_;
  const std::string own_name_;  // the machine's
  ConnectionTable connections_;
  UniqueFd stop_;
  MHD_Daemon* daemon_ = nullptr;
  std::thread thread_;
};

}  // namespace walrelay

// HttpServer: read-only pages for probes, scrapers and people.
//
// Serves GET and HEAD on fixed paths. A connection is limited to one request of 8 KiB, five seconds
// of idle time and ten seconds in total; the 17th connection of one peer and the 49th connection
// overall close the oldest (ConnectionTable). Responses contain no part of the request, except a
// name that a handler knows. The server calls the handlers on its own thread: they read what other
// threads have published and must not wait for those threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "http/connection_table.h"

struct MHD_Daemon;

namespace walrelay {

// The response of a page. The body is copied before the handler's result is destroyed.
struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// All that a handler learns of a request.
struct PageRequest {
  // The path behind that of a page that ends with "/": letters, digits, "_", "-" and ".", at most
  // 64; "" for other pages. Valid during the call.
  std::string_view rest;
  bool verbose = false;  // the query asks for detail
  // The Host is an Internet name: the request may come from a page of a foreign site, which must
  // not receive row data.
  bool foreign_host = false;
};

// Called on the server's thread, one request at a time. REQUIRES: it does not block.
using HttpHandler = std::function<HttpResponse(const PageRequest&)>;

// "127.0.0.1:port" with a port that is currently free. Errors: WR-5002.
// Another process may take the port before the caller uses it.
absl::StatusOr<std::string> FreeLoopbackAddress();

// The pages are fixed at Start(). Paths are compared exactly, without the query; a page whose path
// ends with "/" also serves what is one name below it. Other paths are answered with 404, other
// methods with 405.
class HttpServer {
 public:
  // `listen`: "address:port", "[v6]:port", or ":port" for every address; port 0 selects a free
  // port. Errors: WR-5002 (HttpListen).
  // Listens when it returns; requests wait until Serve(). Objects that the handlers refer to must
  // outlive the server. A port that another process uses is an error, because SO_REUSEPORT is not
  // set.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      std::string_view listen, std::map<std::string, HttpHandler> pages);
  // Starts the thread that answers requests. REQUIRES: not called before.
  void Serve();
  // Listen() and Serve().
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      std::string_view listen, std::map<std::string, HttpHandler> pages);
  // Waits for running handlers.
  ~HttpServer();

  // The port of the listening socket.
  int port() const;

 private:
  // Its functions are called on the server's thread, inside MHD_run().
  struct Callbacks;  // for libmicrohttpd

  explicit HttpServer(std::map<std::string, HttpHandler> pages);
  // The page of a path, and what is behind it; nullptr: none.
  std::pair<const HttpHandler*, std::string_view> Find(std::string_view path) const;
  // The body of the thread: libmicrohttpd's descriptor, the connections' deadlines and the stop
  // request.
  void Run();

  const std::map<std::string, HttpHandler, std::less<>> pages_;
  const std::string own_name_;  // this host's name
  ConnectionTable connections_;
  UniqueFd stop_;
  MHD_Daemon* daemon_ = nullptr;
  std::thread thread_;
};

}  // namespace walrelay

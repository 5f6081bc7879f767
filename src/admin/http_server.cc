#include "admin/http_server.h"

#include <fmt/format.h>
#include <microhttpd.h>

#include <cerrno>
#include <cstring>

#include "admin/listen_address.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr unsigned kMostConnections = 64;
constexpr unsigned kIdleSeconds = 5;
constexpr size_t kRequestBytes = 8 * 1024;

MHD_Result Answer(MHD_Connection* connection, const HttpResponse& response) {
  MHD_Response* out = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (out == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  MHD_add_response_header(out, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(out, "X-Content-Type-Options", "nosniff");
  if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(out, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(connection, response.status, out);
  MHD_destroy_response(out);
  return result;
}

// libmicrohttpd calls once when the headers are read, and again for a body, of which there is none.
MHD_Result OnRequest(void* server, MHD_Connection* connection, const char* url, const char* method,
                     const char* /*version*/, const char* /*upload*/, size_t* upload_size,
                     void** /*state*/) {
  const std::string_view verb = method;
  if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD) {
    *upload_size = 0;
    return Answer(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET\n"});
  }
  const auto& pages = static_cast<const HttpServer*>(server)->pages();
  const auto page = pages.find(url);
  if (page == pages.end()) {
    return Answer(connection, {.status = MHD_HTTP_NOT_FOUND, .body = "no such page\n"});
  }
  // The call with a length finds "?verbose" too, which has no value.
  const bool verbose =
      MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, "verbose",
                                    sizeof("verbose") - 1, nullptr, nullptr) == MHD_YES;
  return Answer(connection, page->second(verbose));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    std::string_view listen, std::map<std::string, HttpHandler> pages) {
  const auto address = ListenAddress::Parse(listen);
  if (!address) {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("\"{}\" is not address:port", Printable(listen, 80)));
  }
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(pages)));
  const unsigned flags =
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | (address->is_v6() ? MHD_USE_IPv6 : 0);
  errno = 0;
  // Not with MHD_OPTION_LISTENING_ADDRESS_REUSE: that is SO_REUSEPORT, with which a second process
  // would share the port in silence, and take every other probe.
  server->daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &OnRequest, server.get(), MHD_OPTION_SOCK_ADDR, address->get(),
      MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kRequestBytes * 2, MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("{}: {}", Printable(listen, 80), std::strerror(errno)));
  }
  return server;
}

absl::StatusOr<std::string> FreeLoopbackAddress() {
  WR_ASSIGN_OR_RETURN(const auto probe, HttpServer::Start("127.0.0.1:0", {}));
  return fmt::format("127.0.0.1:{}", probe->port());
}

HttpServer::~HttpServer() {
  if (daemon_ != nullptr) {
    MHD_stop_daemon(daemon_);
  }
}

int HttpServer::port() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  return info != nullptr ? info->port : 0;
}

}  // namespace walrelay

#include "http/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "http/host_header.h"
#include "http/listen_address.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Never reached: ConnectionTable closes the oldest connection first.
constexpr unsigned kMaxConnections = 64;
// Probes send a request at once; a client that sends nothing only holds a descriptor.
constexpr unsigned kIdleSeconds = 5;
// Memory for the headers of one request; doubled below for the connection as a whole.
constexpr size_t kRequestBytes = 8 * 1024;

// Nothing is cached: every page shows the present.
MHD_Result Answer(MHD_Connection* connection, const HttpResponse& response) {
  // Copied, because the response may be sent after this call.
  MHD_Response* out = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (out == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  MHD_add_response_header(out, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  // Pages contain row data: a browser must not interpret text as HTML.
  MHD_add_response_header(out, "X-Content-Type-Options", "nosniff");
  if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(out, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(connection, response.status, out);
  MHD_destroy_response(out);
  return result;
}

MonoTime Now() {
  return SystemClock().Now();
}

// The socket is made here because libmicrohttpd 1.0 does not tell why it cannot listen. Invalid
// after an error, with its errno. Without SO_REUSEPORT: a second process would silently share the
// port and receive every other probe.
UniqueFd OpenListener(const ListenAddress& address) {
  constexpr int kOn = 1;
  UniqueFd socket(
      ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool listens =
      socket.valid() &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof(kOn)) == 0 &&
      (!address.is_v6() ||
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kOn, sizeof(kOn)) == 0) &&
      ::bind(socket.get(), address.get(), address.size()) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : UniqueFd();
}

// The address without the port.
std::string AddressOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v6 = address->sa_family == AF_INET6;
  const void* from =
      v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)
         : &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  return ::inet_ntop(address->sa_family, from, text.data(), text.size()) != nullptr ? text.data()
                                                                                    : "";
}

// A name can be looked up and logged without escapes.
bool IsPageName(std::string_view text) {
  constexpr size_t kLongest = 64;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), plain);
}

std::string MachineName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

struct HttpServer::Callbacks {
  static MHD_Result OnRequest(void* server, MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* upload,
                              size_t* upload_size, void** state);
  static void OnConnection(void* server, MHD_Connection* connection, void** state,
                           MHD_ConnectionNotificationCode code);
};

// libmicrohttpd calls this when the headers have been read, and again for a body, which is not
// expected.
MHD_Result HttpServer::Callbacks::OnRequest(void* raw, MHD_Connection* connection, const char* url,
                                            const char* method, const char* /*version*/,
                                            const char* /*upload*/, size_t* upload_size,
                                            void** /*state*/) {
  const auto& server = *static_cast<const HttpServer*>(raw);
  const std::string_view verb = method;
  if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD) {
    *upload_size = 0;
    return Answer(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET\n"});
  }
  const auto [page, rest] = server.Find(url);
  if (page == nullptr) {
    return Answer(connection, {.status = MHD_HTTP_NOT_FOUND, .body = "no such page\n"});
  }
  // The variant with a length also finds "?verbose", which has no value.
  const bool verbose =
      MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, "verbose",
                                    sizeof("verbose") - 1, nullptr, nullptr) == MHD_YES;
  const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  const bool foreign = host != nullptr && !NamesThisMachine(host, server.own_name_);
  return Answer(connection, (*page)({.rest = rest, .verbose = verbose, .foreign_host = foreign}));
}

// Called before the first byte of a connection is read, and before its socket is closed.
void HttpServer::Callbacks::OnConnection(void* raw, MHD_Connection* connection, void** /*state*/,
                                         MHD_ConnectionNotificationCode code) {
  auto& connections = static_cast<HttpServer*>(raw)->connections_;
  // The next question overwrites the answer, in libmicrohttpd 1.0.
  const auto* answer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (answer == nullptr) {
    return;
  }
  const int socket = answer->connect_fd;
  if (code != MHD_CONNECTION_NOTIFY_STARTED) {
    connections.Remove(socket);
    return;
  }
  answer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  connections.Add(socket, answer != nullptr ? AddressOf(answer->client_addr) : "", Now());
}

HttpServer::HttpServer(std::map<std::string, HttpHandler> pages)
    : pages_(std::make_move_iterator(pages.begin()), std::make_move_iterator(pages.end())),
      own_name_(MachineName()),
      connections_(ConnectionTable::Limits()),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

std::pair<const HttpHandler*, std::string_view> HttpServer::Find(std::string_view path) const {
  if (const auto page = pages_.find(path); page != pages_.end()) {
    return {&page->second, ""};
  }
  const size_t name = path.rfind('/') + 1;  // a path begins with "/"
  const std::string_view rest = path.substr(name);
  const auto page = pages_.find(path.substr(0, name));
  return page != pages_.end() && IsPageName(rest) ? std::pair(&page->second, rest)
                                                  : std::pair(nullptr, rest);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    std::string_view listen, std::map<std::string, HttpHandler> pages) {
  WR_ASSIGN_OR_RETURN(auto server, Listen(listen, std::move(pages)));
  server->Serve();
  return server;
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    std::string_view listen, std::map<std::string, HttpHandler> pages) {
  const auto address = ListenAddress::Parse(listen);
  if (!address) {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("\"{}\" is not address:port", Printable(listen, 80)));
  }
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(pages)));
  // Without a thread of its own: this class polls the daemon, and so can close connections at their
  // deadline.
  const unsigned flags = MHD_USE_EPOLL | (address->is_v6() ? MHD_USE_IPv6 : 0);
  const auto cannot_listen = [listen] {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("{}: {}", Printable(listen, 80), std::strerror(errno)));
  };
  const UniqueFd socket = OpenListener(*address);
  // For the daemon, which closes it. Without a socket it would listen on another address.
  const int copy = socket.valid() ? ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0) : -1;
  if (copy < 0) {
    return cannot_listen();
  }
  server->daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &Callbacks::OnRequest, server.get(), MHD_OPTION_LISTEN_SOCKET,
      copy, MHD_OPTION_CONNECTION_LIMIT, kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT,
      kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kRequestBytes * 2,
      MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::OnConnection, server.get(), MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    return cannot_listen();
  }
  return server;
}

void HttpServer::Serve() {
  WR_CHECK(!thread_.joinable(), "a server has one thread");
  thread_ = std::thread([this] { Run(); });
}

// libmicrohttpd's own timeout covers idle connections, ours the age of each.
void HttpServer::Run() {
  const int events = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  while (true) {
    int wait = -1;
    if (MHD_UNSIGNED_LONG_LONG millis = 0; MHD_get_timeout(daemon_, &millis) == MHD_YES) {
      wait = static_cast<int>(std::min<MHD_UNSIGNED_LONG_LONG>(millis, 60'000));
    }
    if (const auto deadline = connections_.NextDeadline()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Now()).count();
      const int until = static_cast<int>(std::max<int64_t>(left, 0));
      wait = wait < 0 ? until : std::min(wait, until);
    }
    pollfd polled[] = {{events, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    (void)::poll(polled, 2, wait);
    if (polled[1].revents != 0) {
      return;
    }
    (void)MHD_run(daemon_);
    connections_.EndOverdue(Now());
  }
}

// Binds to port 0, and gives the port up again: another process may take it before the caller does.
absl::StatusOr<std::string> FreeLoopbackAddress() {
  WR_ASSIGN_OR_RETURN(const auto probe, HttpServer::Listen("127.0.0.1:0", {}));
  return fmt::format("127.0.0.1:{}", probe->port());
}

// The thread first: the daemon must not be stopped while it runs.
HttpServer::~HttpServer() {
  if (thread_.joinable()) {
    (void)::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  if (daemon_ != nullptr) {
    MHD_stop_daemon(daemon_);
  }
}

int HttpServer::port() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  return info != nullptr ? info->port : 0;
}

}  // namespace walrelay

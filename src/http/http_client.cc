#include "http/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "base/text.h"
#include "http/listen_address.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The status report of an hour is far smaller; a limit protects this process from another server on
// the port.
constexpr size_t kMaxBytes = 8 << 20;

using Curl = std::unique_ptr<CURL, decltype([](CURL* curl) { curl_easy_cleanup(curl); })>;

// From the parsed address and not from the text: the URL then contains nothing that libcurl could
// interpret.
std::string UrlOf(const ListenAddress& address, std::string_view path) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.is_v6()) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.get());
    inet_ntop(AF_INET6, &v6->sin6_addr, host.data(), host.size());
    return fmt::format("http://[{}]:{}{}", host.data(), ntohs(v6->sin6_port), path);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.get());
  inet_ntop(AF_INET, &v4->sin_addr, host.data(), host.size());
  return fmt::format("http://{}:{}{}", host.data(), ntohs(v4->sin_port), path);
}

// libcurl aborts the transfer when the callback returns less than it was given.
size_t AppendBody(const char* data, size_t /*one*/, size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size > kMaxBytes) {
    return 0;
  }
  body.append(data, size);
  return size;
}

std::string_view WhyNot(CURLcode result) {
  switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
      return "timed out";
    case CURLE_WRITE_ERROR:
      return "response too large";
    case CURLE_COULDNT_CONNECT:
      return "cannot connect";
    default:
      return "not an HTTP response";
  }
}

}  // namespace

absl::StatusOr<HttpAnswer> HttpGet(std::string_view listen, std::string_view path, Micros timeout) {
  const auto address = ListenAddress::Parse(listen);
  if (!address) {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("\"{}\" is not address:port", Printable(listen, 80)));
  }
  const Curl curl(curl_easy_init());
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  HttpAnswer answer;
  set(CURLOPT_URL, UrlOf(address->ForClients(), path).c_str());  // copied
  set(CURLOPT_NOPROXY, "*");  // a relay on this host is not behind a proxy
  // Without signals: libcurl would use SIGALRM for name resolution.
  set(CURLOPT_NOSIGNAL, 1L);
  // For the whole transfer: a server that sends a byte at a time cannot prolong it.
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count() / 1000));
  set(CURLOPT_WRITEFUNCTION, &AppendBody);
  set(CURLOPT_WRITEDATA, &answer.body);
  const CURLcode result = curl_easy_perform(curl.get());
  if (result != CURLE_OK) {
    return Error(ErrorCode::kRelaySilent, fmt::format("{}: {} ({})", Printable(listen, 80),
                                                      WhyNot(result), curl_easy_strerror(result)));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<unsigned>(status);
  return answer;
}

}  // namespace walrelay

#include "base/http_call.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace walrelay {
namespace {

using Curl = std::unique_ptr<CURL, decltype([](CURL* curl) { curl_easy_cleanup(curl); })>;
using CurlHeaders =
    std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

// The body as it arrives. Wiped, and reserved at once: a string that grows would leave copies.
struct ReceivedBody {
  explicit ReceivedBody(size_t limit) : max_bytes(limit) {
    text.reserve(std::min<size_t>(limit, 64 * 1024));
  }
  ~ReceivedBody() { explicit_bzero(text.data(), text.size()); }

  const size_t max_bytes;
  std::string text;
};

// libcurl aborts the transfer when the callback returns less than it was given.
size_t AppendBody(const char* data, size_t /*one*/, size_t size, void* to) {
  auto& body = *static_cast<ReceivedBody*>(to);
  if (body.text.size() + size > body.max_bytes) {
    return 0;
  }
  body.text.append(data, size);
  return size;
}

// Called at least once per second. Another value than 0 aborts the transfer.
int CheckInterrupt(void* call, curl_off_t /*in_total*/, curl_off_t /*in*/, curl_off_t /*out_total*/,
                   curl_off_t /*out*/) {
  pollfd interrupt{static_cast<const HttpCall*>(call)->interrupt_fd, POLLIN, 0};
  return ::poll(&interrupt, 1, 0) > 0 ? 1 : 0;
}

std::string_view WhyNot(CURLcode result) {
  switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
      return "timed out";
    case CURLE_WRITE_ERROR:
      return "response too large";
    case CURLE_COULDNT_RESOLVE_HOST:
      return "unknown host";
    case CURLE_COULDNT_CONNECT:
      return "cannot connect";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return "TLS failed";
    default:
      return "not an HTTP response";
  }
}

CurlHeaders HeadersOf(const HttpCall& call) {
  CurlHeaders list;
  for (const Secret& header : call.headers) {
    list.reset(curl_slist_append(list.release(), header.Reveal().c_str()));
  }
  return list;
}

struct CurlUrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) {
    return "";
  }
  std::string out(text);
  curl_free(text);
  return out;
}

}  // namespace

std::optional<HttpUrl> ParseHttpUrl(const std::string& url) {
  const std::unique_ptr<CURLU, CurlUrlDeleter> parsed(curl_url());
  // libcurl ignores blanks and other bytes at some places; nothing that needs them is a URL.
  const bool plain =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (parsed == nullptr || !plain ||
      curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK) {
    return std::nullopt;
  }
  const std::string scheme = PartOf(parsed.get(), CURLUPART_SCHEME);
  std::string host = PartOf(parsed.get(), CURLUPART_HOST);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  if ((scheme != "http" && scheme != "https") || host.empty()) {
    return std::nullopt;
  }
  return HttpUrl{.tls = scheme == "https", .host = std::move(host)};
}

absl::StatusOr<HttpReply> CallHttp(const HttpCall& call) {
  const std::optional<HttpUrl> url = ParseHttpUrl(call.url);
  if (!url) {
    return absl::UnavailableError("not an http or https URL without user and password");
  }
  if (!url->IsPrivate() && !call.clear_text) {
    return absl::UnavailableError("the request would cross the network in clear text: use https");
  }
  const Curl curl(curl_easy_init());
  const CurlHeaders headers = HeadersOf(call);
  ReceivedBody body(call.max_bytes);
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  set(CURLOPT_URL, call.url.c_str());  // copied
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTPHEADER, headers.get());
  if (call.method != "GET") {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.Reveal().size()));
    set(CURLOPT_POSTFIELDS, call.body.Reveal().c_str());  // not copied
    set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
  }
  if (!call.ca_file.empty()) {
    set(CURLOPT_CAINFO, call.ca_file.c_str());
  }
  if (!call.use_proxy) {
    set(CURLOPT_NOPROXY, "*");
  }
  // Without signals: libcurl would use SIGALRM for name resolution.
  set(CURLOPT_NOSIGNAL, 1L);
  // For the whole transfer: a server that sends a byte at a time cannot prolong it.
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout.count() / 1000));
  set(CURLOPT_WRITEFUNCTION, &AppendBody);
  set(CURLOPT_WRITEDATA, &body);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &CheckInterrupt);
  set(CURLOPT_XFERINFODATA, const_cast<HttpCall*>(&call));
  const CURLcode result = curl_easy_perform(curl.get());
  if (result == CURLE_ABORTED_BY_CALLBACK) {
    return absl::CancelledError();
  }
  if (result != CURLE_OK) {
    return absl::UnavailableError(
        fmt::format("{} ({})", WhyNot(result), curl_easy_strerror(result)));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return HttpReply{.status = static_cast<unsigned>(status), .body = Secret(body.text)};
}

std::string UriEncode(std::string_view text) {
  constexpr std::string_view kUnreservedMarks = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte) != 0) || kUnreservedMarks.find(c) != std::string::npos) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

}  // namespace walrelay

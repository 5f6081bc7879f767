#include "auth/aws_signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/escaping.h"
#include "base/http_call.h"

namespace walrelay {
namespace {

using NamesAndValues = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string Sha256(std::string_view bytes) {
  std::string digest(32, '\0');
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha256(), nullptr);
  return digest;
}

Secret HmacSha256(const Secret& key, std::string_view bytes) {
  std::string digest(32, '\0');
  HMAC(EVP_sha256(), key.Reveal().data(), static_cast<int>(key.Reveal().size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return Secret(std::move(digest));
}

// "20150830T123600Z", and its first part "20150830".
std::string TimeOf(const SigningScope& scope) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(
                         std::chrono::time_point_cast<std::chrono::system_clock::duration>(
                             std::chrono::floor<std::chrono::seconds>(scope.time)))));
}
std::string DateOf(const SigningScope& scope) {
  return TimeOf(scope).substr(0, 8);
}

std::string ScopeText(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", DateOf(scope), scope.region, scope.service);
}

std::string EncodedQuery(const NamesAndValues& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", UriEncode(name), UriEncode(value));
  }
  return out;
}

// Sorted by the encoded names, then values: "%" sorts before every other character.
std::string CanonicalQuery(NamesAndValues query) {
  for (auto& [name, value] : query) {
    name = UriEncode(name);
    value = UriEncode(value);
  }
  std::sort(query.begin(), query.end());
  std::string out;
  for (const auto& [name, value] : query) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, value);
  }
  return out;
}

NamesAndValues SortedHeaders(const AwsRequest& request) {
  NamesAndValues headers = request.headers;
  headers.emplace_back("host", request.host);
  std::sort(headers.begin(), headers.end());
  return headers;
}

std::string SignedHeaderNames(const AwsRequest& request) {
  std::string out;
  for (const auto& [name, value] : SortedHeaders(request)) {
    out += (out.empty() ? "" : ";") + name;
  }
  return out;
}

std::string CanonicalRequest(const AwsRequest& request) {
  std::string headers;
  for (const auto& [name, value] : SortedHeaders(request)) {
    headers += fmt::format("{}:{}\n", name, value);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path,
                     CanonicalQuery(request.query), headers, SignedHeaderNames(request),
                     absl::BytesToHexString(Sha256(request.body)));
}

std::string SignatureOf(const AwsRequest& request, const SigningScope& scope,
                        const AwsCredentials& credentials) {
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, TimeOf(scope), ScopeText(scope),
                  absl::BytesToHexString(Sha256(CanonicalRequest(request))));
  Secret key("AWS4" + credentials.secret_access_key.Reveal());
  for (const std::string& part :
       {DateOf(scope), scope.region, scope.service, std::string("aws4_request"), to_sign}) {
    key = HmacSha256(key, part);
  }
  return absl::BytesToHexString(key.Reveal());
}

}  // namespace

std::string PresignUrl(const AwsRequest& request, const SigningScope& scope,
                       const AwsCredentials& credentials, std::chrono::seconds lifetime) {
  AwsRequest presigned = request;
  auto& query = presigned.query;
  query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  query.emplace_back("X-Amz-Credential",
                     fmt::format("{}/{}", credentials.access_key_id, ScopeText(scope)));
  query.emplace_back("X-Amz-Date", TimeOf(scope));
  query.emplace_back("X-Amz-Expires", std::to_string(lifetime.count()));
  query.emplace_back("X-Amz-SignedHeaders", SignedHeaderNames(request));
  if (!credentials.session_token.empty()) {
    query.emplace_back("X-Amz-Security-Token", credentials.session_token.Reveal());
  }
  return fmt::format("https://{}{}?{}&X-Amz-Signature={}", request.host, request.path,
                     EncodedQuery(query), SignatureOf(presigned, scope, credentials));
}

std::vector<Secret> SignHeaders(AwsRequest request, const SigningScope& scope,
                                const AwsCredentials& credentials) {
  request.headers.emplace_back("x-amz-date", TimeOf(scope));
  std::vector<Secret> added = {Secret("X-Amz-Date: " + TimeOf(scope))};
  if (!credentials.session_token.empty()) {
    const std::string& token = credentials.session_token.Reveal();
    request.headers.emplace_back("x-amz-security-token", token);
    added.emplace_back("X-Amz-Security-Token: " + token);
  }
  added.emplace_back(
      fmt::format("Authorization: {} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                  credentials.access_key_id, ScopeText(scope), SignedHeaderNames(request),
                  SignatureOf(request, scope, credentials)));
  return added;
}

}  // namespace walrelay

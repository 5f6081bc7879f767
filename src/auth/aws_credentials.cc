#include "auth/aws_credentials.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "auth/aws_call.h"
#include "auth/aws_sts.h"
#include "auth/json_fields.h"
#include "base/loopback.h"
#include "base/read_to_end.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kWebIdentity = "AWS web identity";
constexpr std::string_view kContainer = "AWS container credentials";
constexpr std::string_view kInstance = "EC2 instance metadata";

// On a machine outside EC2 the address does not answer at all.
constexpr Micros kInstanceTimeout = std::chrono::seconds(5);

// Tokens that Kubernetes and ECS provide are readable by the whole container, so their mode does
// not matter.
absl::StatusOr<Secret> ReadTokenFile(std::string_view provider, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto content = file.valid() ? ReadToEnd(file.get(), 64 * 1024) : std::nullopt;
  if (!content) {
    return AwsError(provider, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  content->resize(content->find_last_not_of(" \r\n") + 1);
  return Secret(*std::move(content));
}

absl::StatusOr<AwsCredentials> FromEnvironment() {
  return AwsCredentials{.access_key_id = AwsVariable("AWS_ACCESS_KEY_ID"),
                        .secret_access_key = Secret(AwsVariable("AWS_SECRET_ACCESS_KEY")),
                        .session_token = Secret(AwsVariable("AWS_SESSION_TOKEN"))};
}

absl::StatusOr<AwsCredentials> FromWebIdentity(const AwsConfig& aws,
                                               const AwsCallOptions& options) {
  WR_ASSIGN_OR_RETURN(const Secret identity,
                      ReadTokenFile(kWebIdentity, AwsVariable("AWS_WEB_IDENTITY_TOKEN_FILE")));
  const std::string name = AwsVariable("AWS_ROLE_SESSION_NAME");
  return AssumeRoleWithWebIdentity(aws.region, AwsVariable("AWS_ROLE_ARN"),
                                   name.empty() ? aws.role_session_name : name, identity, options);
}

// The answer of the container endpoint and of the instance metadata service.
absl::StatusOr<AwsCredentials> ParseAnswer(std::string_view provider, const Secret& answer) {
  const auto fields = JsonFields::Parse(answer.Reveal());
  AwsCredentials found;
  if (fields) {
    found = {.access_key_id = fields->Text("AccessKeyId").Reveal(),
             .secret_access_key = fields->Text("SecretAccessKey"),
             .session_token = fields->Text("Token"),
             .expiry = ParseAwsTime(fields->Text("Expiration").Reveal())};
  }
  return found.access_key_id.empty() || found.secret_access_key.empty()
             ? absl::StatusOr<AwsCredentials>(AwsError(provider, "the answer has no credentials"))
             : found;
}

// Of a URL; an IPv6 address without its brackets.
std::string_view HostOfUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  url.remove_prefix(scheme == std::string_view::npos ? 0 : scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  return url.starts_with('[') ? url.substr(1, url.find(']') - 1) : url.substr(0, url.find(':'));
}

// The token that is sent proves the identity of the pod: not in clear text over a network.
bool IsAllowed(std::string_view url) {
  const std::string_view host = HostOfUrl(url);
  return url.starts_with("https://") ||
         (url.starts_with("http://") && (IsLoopback(host) || host == "169.254.170.2" ||
                                         host == "169.254.170.23" || host == "fd00:ec2::23"));
}

absl::StatusOr<Secret> ContainerToken() {
  const std::string file = AwsVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return file.empty() ? Secret(AwsVariable("AWS_CONTAINER_AUTHORIZATION_TOKEN"))
                      : ReadTokenFile(kContainer, file);
}

absl::StatusOr<AwsCredentials> FromContainer(const AwsCallOptions& options) {
  const std::string relative = AwsVariable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  HttpCall call{.url = relative.empty() ? AwsVariable("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                        : "http://169.254.170.2" + relative,
                .use_proxy = false};
  if (!IsAllowed(call.url)) {
    return AwsError(kContainer, fmt::format("{} needs https", Printable(call.url, 200)));
  }
  WR_ASSIGN_OR_RETURN(const Secret token, ContainerToken());
  if (token.Reveal().find_first_of("\r\n") != std::string::npos) {
    return AwsError(kContainer, "the authorization token contains a line end");
  }
  if (!token.empty()) {
    call.headers.emplace_back("Authorization: " + token.Reveal());
  }
  WR_ASSIGN_OR_RETURN(const Secret answer, CallAws(kContainer, std::move(call), options));
  return ParseAnswer(kContainer, answer);
}

// Version 2: a session token first, which a forged request from a container cannot obtain.
absl::StatusOr<AwsCredentials> FromInstance(const AwsCallOptions& options) {
  std::string base = AwsVariable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  base = base.empty() ? "http://169.254.169.254" : base.substr(0, base.find_last_not_of('/') + 1);
  WR_ASSIGN_OR_RETURN(const Secret session,
                      CallAws(kInstance,
                              {.method = "PUT",
                               .url = base + "/latest/api/token",
                               .headers = {Secret("X-aws-ec2-metadata-token-ttl-seconds: 300")},
                               .use_proxy = false,
                               .timeout = kInstanceTimeout},
                              options));
  const auto get = [&](const std::string& path) {
    return CallAws(kInstance,
                   {.url = base + path,
                    .headers = {Secret("X-aws-ec2-metadata-token: " + session.Reveal())},
                    .use_proxy = false,
                    .timeout = kInstanceTimeout},
                   options);
  };
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  WR_ASSIGN_OR_RETURN(const Secret role, get(roles));
  const std::string& names = role.Reveal();
  WR_ASSIGN_OR_RETURN(const Secret answer,
                      get(roles + UriEncode(names.substr(0, names.find('\n')))));
  return ParseAnswer(kInstance, answer);
}

absl::StatusOr<AwsCredentials> OwnCredentials(const AwsConfig& aws, const AwsCallOptions& options) {
  const auto is_set = [](const char* name) { return !AwsVariable(name).empty(); };
  if (is_set("AWS_ACCESS_KEY_ID") && is_set("AWS_SECRET_ACCESS_KEY")) {
    return FromEnvironment();
  }
  if (is_set("AWS_WEB_IDENTITY_TOKEN_FILE") && is_set("AWS_ROLE_ARN")) {
    return FromWebIdentity(aws, options);
  }
  if (is_set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
      is_set("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    return FromContainer(options);
  }
  if (AwsVariable("AWS_EC2_METADATA_DISABLED") == "true") {
    return AwsError("AWS credentials", "none are configured in the environment of this process");
  }
  return FromInstance(options);
}

}  // namespace

absl::StatusOr<AwsCredentials> FindAwsCredentials(const AwsConfig& aws,
                                                  const AwsCallOptions& options) {
  WR_ASSIGN_OR_RETURN(AwsCredentials own, OwnCredentials(aws, options));
  return aws.role_arn.empty() ? own : AssumeRole(aws, own, options);
}

}  // namespace walrelay

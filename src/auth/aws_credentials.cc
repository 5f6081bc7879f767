#include "auth/aws_credentials.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "auth/aws_call.h"
#include "auth/aws_sts.h"
#include "auth/json_fields.h"
#include "base/http_call.h"
#include "base/read_to_end.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "walrelay/config/kafka.h"
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

// Addresses that no network routes: a server there runs on this machine or its host.
bool IsOfThePlatform(const std::string& url) {
  constexpr std::string_view kAddresses[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
                                             "169.254.169.254", "fd00:ec2::254"};
  const std::optional<HttpUrl> parsed = ParseHttpUrl(url);
  return parsed && std::find(std::begin(kAddresses), std::end(kAddresses), parsed->host) !=
                       std::end(kAddresses);
}

// The request proves the identity of the pod or the machine, so it must not cross a network in
// clear text.
absl::Status CheckIsAllowed(std::string_view provider, const std::string& url) {
  const std::optional<HttpUrl> parsed = ParseHttpUrl(url);
  if (!parsed) {
    return AwsError(provider,
                    "the URL of the environment is not an http or https URL without user "
                    "and password");
  }
  return parsed->IsPrivate() || IsOfThePlatform(url)
             ? absl::OkStatus()
             : AwsError(provider, fmt::format("{} needs https", Printable(parsed->host, 200)));
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
  WR_RETURN_IF_ERROR(CheckIsAllowed(kContainer, call.url));
  call.clear_text = true;
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
  WR_RETURN_IF_ERROR(CheckIsAllowed(kInstance, base));
  WR_ASSIGN_OR_RETURN(const Secret session,
                      CallAws(kInstance,
                              {.method = "PUT",
                               .url = base + "/latest/api/token",
                               .clear_text = true,
                               .headers = {Secret("X-aws-ec2-metadata-token-ttl-seconds: 300")},
                               .use_proxy = false,
                               .timeout = kInstanceTimeout},
                              options));
  const auto get = [&](const std::string& path) {
    return CallAws(kInstance,
                   {.url = base + path,
                    .clear_text = true,
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

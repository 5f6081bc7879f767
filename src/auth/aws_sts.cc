#include "auth/aws_sts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "auth/aws_call.h"
#include "base/system_clock.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kProvider = "AWS STS";
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

std::string StsHost(const std::string& region) {
  return fmt::format("sts.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

absl::StatusOr<AwsCredentials> ParseCredentials(const Secret& reply) {
  const auto text = [&](const char* name) { return std::string(XmlElement(reply.Reveal(), name)); };
  AwsCredentials found{.access_key_id = text("AccessKeyId"),
                       .secret_access_key = Secret(text("SecretAccessKey")),
                       .session_token = Secret(text("SessionToken")),
                       .expiry = ParseAwsTime(text("Expiration"))};
  return found.access_key_id.empty() || found.secret_access_key.empty() ||
                 found.session_token.empty()
             ? absl::StatusOr<AwsCredentials>(AwsError(kProvider, "the answer has no credentials"))
             : found;
}

// `credentials`: nullptr for a request whose parameters prove the identity.
absl::StatusOr<AwsCredentials> CallSts(const std::string& region, const std::string& form,
                                       const AwsCredentials* credentials,
                                       const AwsCallOptions& options) {
  const std::string own = AwsVariable("AWS_ENDPOINT_URL_STS");
  HttpCall call{.method = "POST",
                .url = own.empty() ? fmt::format("https://{}/", StsHost(region)) : own,
                .body = Secret(form)};
  if (credentials != nullptr) {
    // The signed host is the one that libcurl sends.
    const size_t scheme = call.url.find("://");
    std::string host = call.url.substr(scheme == std::string::npos ? 0 : scheme + 3);
    host.resize(std::min(host.find('/'), host.size()));
    call.headers = SignHeaders({.method = "POST",
                                .host = host,
                                .headers = {{"content-type", std::string(kFormType)}},
                                .body = form},
                               {region, "sts", SystemClock().WallNow()}, *credentials);
  }
  call.headers.emplace_back(fmt::format("Content-Type: {}", kFormType));
  WR_ASSIGN_OR_RETURN(const Secret reply, CallAws(kProvider, std::move(call), options));
  return ParseCredentials(reply);
}

std::string RoleForm(std::string_view action, const std::string& role_arn,
                     const std::string& session_name) {
  return fmt::format("Action={}&Version=2011-06-15&RoleArn={}&RoleSessionName={}", action,
                     UriEncode(role_arn), UriEncode(session_name));
}

}  // namespace

absl::StatusOr<AwsCredentials> AssumeRole(const AwsConfig& aws, const AwsCredentials& credentials,
                                          const AwsCallOptions& options) {
  return CallSts(aws.region, RoleForm("AssumeRole", aws.role_arn, aws.role_session_name),
                 &credentials, options);
}

absl::StatusOr<AwsCredentials> AssumeRoleWithWebIdentity(const std::string& region,
                                                         const std::string& role_arn,
                                                         const std::string& session_name,
                                                         const Secret& identity,
                                                         const AwsCallOptions& options) {
  return CallSts(region,
                 RoleForm("AssumeRoleWithWebIdentity", role_arn, session_name) +
                     "&WebIdentityToken=" + UriEncode(identity.Reveal()),
                 nullptr, options);
}

}  // namespace walrelay

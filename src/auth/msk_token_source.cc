#include "auth/msk_token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/escaping.h"
#include "auth/aws_call.h"
#include "auth/aws_credentials.h"
#include "base/absl_strings.h"
#include "base/system_clock.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kLifetime = std::chrono::minutes(15);

// The label after "kafka" or "kafka-serverless" in a name below amazonaws.com.
std::string RegionOfBroker(std::string_view servers) {
  const std::string_view server = servers.substr(0, servers.find_first_of(",:"));
  if (server.find(".amazonaws.com") == std::string_view::npos) {
    return "";
  }
  for (const std::string_view service : {".kafka.", ".kafka-serverless."}) {
    if (const size_t found = server.find(service); found != std::string_view::npos) {
      const std::string_view rest = server.substr(found + service.size());
      return std::string(rest.substr(0, rest.find('.')));
    }
  }
  return "";
}

}  // namespace

Token MskToken(const std::string& region, const AwsCredentials& credentials, WallTime now) {
  const std::string url = PresignUrl({.host = fmt::format("kafka.{}.amazonaws.com", region),
                                      .query = {{"Action", "kafka-cluster:Connect"}}},
                                     {region, "kafka-cluster", now}, credentials, kLifetime);
  const WallTime expiry = now + kLifetime;
  const std::string text =
      fmt::format("{}&User-Agent={}", url, UriEncode(fmt::format("walrelay/{}", Version())));
  return {.value = Secret(absl::WebSafeBase64Escape(ToAbsl(text))),
          .expiry = std::min(expiry, credentials.expiry.value_or(expiry))};
}

std::string MskRegion(const KafkaConfig& kafka) {
  for (const std::string& region : {kafka.aws.region, RegionOfBroker(kafka.bootstrap_servers),
                                    AwsVariable("AWS_REGION"), AwsVariable("AWS_DEFAULT_REGION")}) {
    if (!region.empty()) {
      return region;
    }
  }
  return "";
}

absl::StatusOr<std::unique_ptr<TokenSource>> MskTokenSource::Create(const KafkaConfig& kafka) {
  AwsConfig aws = kafka.aws;
  aws.region = MskRegion(kafka);
  if (aws.region.empty()) {
    return Error(ErrorCode::kConfigValue, "the AWS region of the brokers is unknown",
                 "Set region = \"eu-west-1\" in [kafka.aws], or AWS_REGION.");
  }
  return std::unique_ptr<TokenSource>(new MskTokenSource(std::move(aws), kafka.oauth.timeout));
}

absl::StatusOr<Token> MskTokenSource::Fetch(int interrupt_fd) {
  WR_ASSIGN_OR_RETURN(
      const AwsCredentials credentials,
      FindAwsCredentials(aws_, {.timeout = timeout_, .interrupt_fd = interrupt_fd}));
  const WallTime now = SystemClock().WallNow();
  if (credentials.expiry && *credentials.expiry <= now) {
    return AwsError("AWS credentials", "they have expired");
  }
  return MskToken(aws_.region, credentials, now);
}

}  // namespace walrelay

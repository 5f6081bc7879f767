// AWS Security Token Service: exchanges an identity for temporary credentials of a role.
//
// Blocks. Endpoint: $AWS_ENDPOINT_URL_STS, else that of the region.
// Source: AWS STS API Reference, AssumeRole and AssumeRoleWithWebIdentity.
#pragma once

#include "absl/status/statusor.h"
#include "auth/aws_credentials.h"

namespace walrelay {

struct AwsConfig;

// Errors of both: WR-4012 with the service's own code and message; kCancelled.
absl::StatusOr<AwsCredentials> AssumeRole(const AwsConfig& aws, const AwsCredentials& credentials,
                                          const AwsCallOptions& options);
absl::StatusOr<AwsCredentials> AssumeRoleWithWebIdentity(const std::string& region,
                                                         const std::string& role_arn,
                                                         const std::string& session_name,
                                                         const Secret& identity,
                                                         const AwsCallOptions& options);

}  // namespace walrelay

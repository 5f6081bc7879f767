// The credentials of this process in AWS.
//
// Found as AWS's SDKs find them, by the same environment variables. The first of these that is
// configured is used: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a web identity (EKS service
// accounts); the container endpoint (ECS tasks, EKS Pod Identity); the instance metadata service
// (EC2, version 2 only). Files of the AWS command line (~/.aws) are not read.
//
// Blocks. Callable from any thread, if no other thread changes the environment.
// Source: AWS SDKs and Tools Reference Guide, "Standardized credential providers".
#pragma once

#include "absl/status/statusor.h"
#include "auth/aws_signature.h"
#include "walrelay/clock.h"

namespace walrelay {

struct AwsConfig;

struct AwsCallOptions {
  Micros timeout = std::chrono::seconds(30);  // of one request
  int interrupt_fd = -1;
};

// Assumes aws.role_arn with the credentials found, if it is set.
// Errors: WR-4012, whose message names the provider; kCancelled. REQUIRES: aws.region is not empty.
absl::StatusOr<AwsCredentials> FindAwsCredentials(const AwsConfig& aws,
                                                  const AwsCallOptions& options);

}  // namespace walrelay

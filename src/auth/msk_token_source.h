// MskTokenSource: tokens for the IAM login of Amazon MSK.
//
// The token is a URL that proves the caller's identity to AWS for 15 minutes; brokers receive it as
// an OAUTHBEARER token. Source: github.com/aws/aws-msk-iam-sasl-signer-python, whose tokens are the
// test vectors.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "auth/aws_signature.h"
#include "auth/token_source.h"
#include "walrelay/config/kafka.h"

namespace walrelay {

// Pure. Expires after 15 minutes, or with the credentials.
Token MskToken(const std::string& region, const AwsCredentials& credentials, WallTime now);

// The region of kafka.aws.region, of the first MSK broker's name
// ("….kafka.eu-west-1.amazonaws.com"), of AWS_REGION, or of AWS_DEFAULT_REGION; "" if none is
// known.
std::string MskRegion(const KafkaConfig& kafka);

class MskTokenSource final : public TokenSource {
 public:
  // Errors: WR-1003 if the region is unknown.
  static absl::StatusOr<std::unique_ptr<TokenSource>> Create(const KafkaConfig& kafka);
  absl::StatusOr<Token> Fetch(int interrupt_fd) override;

 private:
  MskTokenSource(AwsConfig aws, Micros timeout) : aws_(std::move(aws)), timeout_(timeout) {}

  const AwsConfig aws_;
  const Micros timeout_;
};

}  // namespace walrelay

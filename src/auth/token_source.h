// TokenSource: obtains the tokens with which walrelay logs in to Kafka.
//
// One source per client; a source may keep state between two tokens. Not thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "auth/token.h"
#include "walrelay/clock.h"

namespace walrelay {

struct KafkaConfig;

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Blocks until the token is there, or the source's own timeout has passed. Errors: WR-4012;
  // kCancelled when `interrupt_fd` becomes readable. It is not read. Returns no expired token.
  virtual absl::StatusOr<Token> Fetch(int interrupt_fd) = 0;
  // When to fetch again although the token is still valid: the source may have a newer one.
  virtual Micros recheck_interval() const { return Micros::max(); }
};

// The source of the mechanisms OAUTHBEARER and AWS_MSK_IAM; nullptr for others.
// Obtains nothing yet. Errors: WR-1003 if the AWS region is unknown, or the program of a command
// does not exist. REQUIRES: ValidateConfig() accepted `kafka`.
absl::StatusOr<std::unique_ptr<TokenSource>> MakeTokenSource(const KafkaConfig& kafka);

// Whether the mechanism logs in with tokens.
bool UsesTokens(const KafkaConfig& kafka);

}  // namespace walrelay

#include "auth/token_source.h"

#include "auth/msk_token_source.h"
#include "auth/oauth_token_sources.h"
#include "base/program.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {

bool UsesTokens(const KafkaConfig& kafka) {
  return kafka.sasl_mechanism == "OAUTHBEARER" || kafka.sasl_mechanism == "AWS_MSK_IAM";
}

absl::StatusOr<std::unique_ptr<TokenSource>> MakeTokenSource(const KafkaConfig& kafka) {
  if (!UsesTokens(kafka)) {
    return nullptr;
  }
  if (kafka.sasl_mechanism == "AWS_MSK_IAM") {
    return MskTokenSource::Create(kafka);
  }
  if (!kafka.oauth.token_file.empty()) {
    return std::make_unique<FileTokenSource>(kafka.oauth);
  }
  if (const auto& command = kafka.oauth.token_command; !command.empty()) {
    WR_RETURN_IF_ERROR(Annotate(FindProgram(command.front()), "kafka.oauth.token_command"));
    return std::make_unique<CommandTokenSource>(kafka.oauth);
  }
  return std::make_unique<OidcTokenSource>(kafka.oauth);
}

}  // namespace walrelay

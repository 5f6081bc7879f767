#include "auth/token_source.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class TokenSourceTest : public ::testing::Test {
 protected:
  KafkaConfig kafka_;
  testing::TemporaryDirectory directory_;
};

TEST_F(TokenSourceTest, OtherLoginsHaveNone) {
  for (const char* mechanism : {"", "PLAIN", "SCRAM-SHA-512", "GSSAPI"}) {
    kafka_.sasl_mechanism = mechanism;
    EXPECT_FALSE(UsesTokens(kafka_));
    EXPECT_EQ(MakeTokenSource(kafka_).value(), nullptr);
  }
}

TEST_F(TokenSourceTest, ConfiguredSourceIsUsed) {
  kafka_.sasl_mechanism = "OAUTHBEARER";
  kafka_.oauth.token_file = directory_.Write("token", "of the file");
  EXPECT_THAT((*MakeTokenSource(kafka_))->Fetch(-1), HasError(ErrorCode::kKafkaToken));
  directory_.Write("token", "file");
  EXPECT_EQ((*MakeTokenSource(kafka_))->Fetch(-1)->value.Reveal(), "file");
  kafka_.oauth = {.token_command = {"echo", "command"}};
  EXPECT_EQ((*MakeTokenSource(kafka_))->Fetch(-1)->value.Reveal(), "command");
}

TEST_F(TokenSourceTest, MissingProgramIsAnErrorAtOnce) {
  kafka_.sasl_mechanism = "OAUTHBEARER";
  kafka_.oauth.token_command = {"no-such-program"};
  EXPECT_THAT(MakeTokenSource(kafka_), HasError(ErrorCode::kConfigValue));
}

}  // namespace
}  // namespace walrelay

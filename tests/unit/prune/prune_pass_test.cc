#include "prune/prune_pass.h"

#include <gtest/gtest.h>

#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

TEST(PrunePassTest, AnotherLoginHasItsOwnPassword) {
  Config config;
  config.source.dsn = "host=a";
  config.source.password = Secret("x");
  config.source.password_command = {"get"};
  EXPECT_EQ(PruneLogin(config.source, config.prune), config.source);
  config.prune.dsn = "host=b";
  config.prune.password_file = "/run/secret";
  const SourceConfig login = PruneLogin(config.source, config.prune);
  EXPECT_EQ(login.dsn, "host=b");
  EXPECT_EQ(login.password_file, "/run/secret");
  EXPECT_TRUE(login.password.empty());
  EXPECT_TRUE(login.password_command.empty());
}

// No server is needed to see that.
TEST(PrunePassTest, WithoutAProofNothingIsPruned) {
  Config config;
  config.prune.mode = PruneMode::kDelete;
  const PruneOutcome outcome =
      RunPrunePass(config.source, config.prune, std::nullopt, PruneAction::kApply, -1,
                   [](uint64_t, Micros) { return true; });
  EXPECT_EQ(CodeOf(outcome.error), ErrorCode::kPruneUnproven);
  EXPECT_FALSE(outcome.complete);
}

}  // namespace
}  // namespace walrelay

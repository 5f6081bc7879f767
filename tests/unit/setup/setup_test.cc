#include "setup/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::HasSubstr;

TEST(MissingScriptTest, StatementsAreForTheAdministratorOfThePlatform) {
  SetupOutcome outcome;
  outcome.missing = {{.what = "slot a\nb", .sql = "SELECT 1;"},
                     {.what = "role r", .sql = "SELECT 2;"}};
  outcome.reasons = {"permission denied\nDROP TABLE x;", ""};
  const std::string script = MissingScript(outcome, *PlatformNamed("rds"), "shop", "orders");
  EXPECT_THAT(script, HasSubstr("-- Run them in database orders, in this order, as a member of "
                                "rds_superuser, such as the master user.\n"));
  EXPECT_THAT(script,
              HasSubstr("\n-- slot a\\x0ab: permission denied\\x0aDROP TABLE x;\nSELECT 1;\n"));
  EXPECT_THAT(script, HasSubstr("\n-- role r\nSELECT 2;\n"));
}

}  // namespace
}  // namespace walrelay

#include "postgres/synchronous_standbys.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(SynchronousStandbysTest, NameIsFoundInEveryFormOfTheSetting) {
  for (const char* setting :
       {"walrelay", "a, walrelay", "walrelay,b", "FIRST 1 (a, walrelay)", "ANY 2 (walrelay, b)",
        "2 (a,walrelay)", "WalRelay", "\"walrelay\"", "any 1 ( \"walrelay\" )", "*", "ANY 1 (*)",
        "a, *", "\"*\"", "\"(odd\", walrelay"}) {
    EXPECT_TRUE(NamesStandby(setting, "walrelay")) << setting;
  }
}

TEST(SynchronousStandbysTest, OtherNamesAreNotFound) {
  for (const char* setting : {"", "standby", "FIRST 1 (a, b)", "walrelay2", "\"walrelay \"",
                              "my_walrelay", "\"a\"\"walrelay\"", "1 (\"walrelay)\")"}) {
    EXPECT_FALSE(NamesStandby(setting, "walrelay")) << setting;
  }
  EXPECT_FALSE(NamesStandby("FIRST 1 (a)", "")) << "an empty name does not match";
}

}  // namespace
}  // namespace walrelay

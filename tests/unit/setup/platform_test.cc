#include "setup/platform.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(PlatformTest, UnknownNameIsNoPlatform) {
  EXPECT_EQ(PlatformNamed("oracle"), nullptr);
  EXPECT_EQ(PlatformNamed(""), &Platforms().front());
}

}  // namespace
}  // namespace walrelay

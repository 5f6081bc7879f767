#include "config/former_option.h"

#include <gtest/gtest.h>

#include <string>

#include "config/option.h"
#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

TEST(FormerOptionTest, LeadsToAPresentOption) {
  for (const FormerOption& former : FormerOptions()) {
    EXPECT_EQ(FindOption(former.name), nullptr) << former.name;
    EXPECT_NE(FindOption(former.option), nullptr) << former.option;
    // A row for any other value exists, and is the last one.
    const FormerOption* any = FindFormerOption(former.name, "");
    ASSERT_NE(any, nullptr) << former.name;
    EXPECT_LE(&former, any) << former.name;
    EXPECT_EQ(FindFormerOption(former.name, former.value), &former) << former.name;
    EXPECT_THAT(FormerOptionError(former),
                HasError(ErrorCode::kConfigUnknownKey, std::string(former.option)));
  }
  EXPECT_EQ(FindFormerOption("source.slot", "walrelay"), nullptr);
}

}  // namespace
}  // namespace walrelay

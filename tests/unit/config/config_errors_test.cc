#include "config/config_errors.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

TEST(ConfigErrorsTest, AnUnexpectedValueIsShownAsTheFileWritesIt) {
  Config config;
  config.source.slot = "My Slot";
  ConfigErrors errors(config);
  errors.Expect("source.slot", "a name");
  const std::vector<OptionError> found = errors.Take();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].option, "source.slot");
  EXPECT_THAT(found[0].error,
              HasError(ErrorCode::kConfigValue, "source.slot: expected a name, got \"My Slot\""));
}

TEST(ConfigErrorsTest, ErrorsKeepTheirOrder) {
  const Config config;
  ConfigErrors errors(config);
  errors.RejectMissing("prune.mark_column", "prune.mode", "prune.mark_column is missing");
  errors.Reject("source.dsn", "wrong");
  const std::vector<OptionError> found = errors.Take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].option, "prune.mark_column");
  EXPECT_EQ(found[0].required_by, "prune.mode");
  EXPECT_EQ(found[1].option, "source.dsn");
}

}  // namespace
}  // namespace walrelay

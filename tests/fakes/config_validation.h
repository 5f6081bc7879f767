// A valid configuration, in which a test of the rules for values changes some.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "config/loader.h"
#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {

class ConfigValidation : public ::testing::Test {
 protected:
  ConfigValidation() {
    config_.source.dsn = "host=db";
    config_.kafka.bootstrap_servers = "kafka:9092";
  }
  void ExpectValid() { EXPECT_THAT(ValidateConfig(config_), IsOk()); }
  void ExpectWrong(const std::string& part) {
    EXPECT_THAT(ValidateConfig(config_), HasError(ErrorCode::kConfigValue, part));
  }
  OutboxTable& table() { return config_.source.tables[0]; }

  Config config_;
};

}  // namespace walrelay

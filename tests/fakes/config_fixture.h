// Loads configurations as the command line does: from a file, environment variables and flags.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "config/loader.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay::testing {

class ConfigFixture : public ::testing::Test {
 protected:
  // Returns the configuration of `file`, which must load. Flags set the keys without a default, see
  // Bare().
  Config Load(std::string_view file) {
    const auto loaded = TryLoad(file);
    EXPECT_THAT(loaded, IsOk());
    return loaded.ok() ? loaded->config : Config();
  }
  virtual absl::StatusOr<LoadedConfig> TryLoad(std::string_view file) {
    input_.file_text = file;
    return LoadConfig(input_);
  }
  void ExpectError(std::string_view file, ErrorCode code, const std::string& part) {
    EXPECT_THAT(TryLoad(file), HasError(code, part)) << file;
  }
  void ExpectBadValue(std::string_view file, const std::string& part) {
    ExpectError(file, ErrorCode::kConfigValue, part);
  }
  void ExpectUnknown(std::string_view file, const std::string& part) {
    ExpectError(file, ErrorCode::kConfigUnknownKey, part);
  }

  void Variable(std::string_view name, std::string_view value) {
    input_.environment.emplace_back(name, value);
  }
  void Flag(std::string_view name, std::string_view value) {
    input_.overrides.emplace_back(name, value);
  }
  // Removes the two flags that set the keys without a default.
  void Bare() { input_.overrides.clear(); }

  ConfigInput input_{
      .file_name = "walrelay.toml",
      .file_text = "",
      .environment = {},
      .overrides = {{"source.dsn", "host=db"}, {"kafka.bootstrap_servers", "kafka:9092"}}};
};

}  // namespace walrelay::testing

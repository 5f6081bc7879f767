#include "config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/option.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

// tests/lint/config_schema_test.py validates files with the schema.
TEST(ConfigSchemaTest, EveryOptionIsDescribed) {
  const std::string schema = ConfigSchema();
  for (const Option& option : Options()) {
    EXPECT_THAT(schema, HasSubstr("\"" + std::string(option.key) + "\":{\"description\":"))
        << option.Name();
  }
}

TEST(ConfigSchemaTest, DefaultsAreThoseOfTheProgram) {
  EXPECT_THAT(ConfigSchema(), HasSubstr("\"type\":\"string\",\"default\":\"walrelay\""));
  EXPECT_THAT(ConfigSchema(), HasSubstr("\"enum\":[\"hold\",\"exit\"],\"default\":\"hold\""));
}

}  // namespace
}  // namespace walrelay

// Rules for the whole configuration; those of a section are in the test of the section.
#include "config/option.h"
#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;

using ValidateConfigTest = ConfigValidation;

TEST_F(ValidateConfigTest, DefaultsWithTwoAddressesAreValid) {
  ExpectValid();
}

TEST_F(ValidateConfigTest, SourceAndKafkaAreRequired) {
  config_.kafka.bootstrap_servers.clear();
  ExpectWrong("kafka.bootstrap_servers is missing");
  config_.kafka.bootstrap_servers = "kafka:9092";
  config_.source.dsn.clear();
  ExpectWrong("source.dsn is missing");
}

TEST_F(ValidateConfigTest, AllInvalidValuesAreFound) {
  config_.source.slot = "My Slot";
  config_.source.connect_timeout = 1ms;
  config_.on_error.value = OnError::kDeadLetter;
  config_.kafka.bootstrap_servers = "http://kafka:9092";
  std::vector<std::string> options;
  for (const OptionError& error : FindInvalidValues(config_)) {
    options.push_back(error.option);
  }
  EXPECT_EQ(options, (std::vector<std::string>{"source.slot", "source.connect_timeout",
                                               "on_error.value", "kafka.bootstrap_servers"}));
}

TEST_F(ValidateConfigTest, CommandRequiresOnlyTheServersItConnectsTo) {
  config_.source.dsn.clear();
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = true}), IsOk());
  EXPECT_THAT(ValidateConfig(config_, {.postgres = true, .kafka = false}),
              HasError(ErrorCode::kConfigValue, "source.dsn"));
  config_.kafka.bootstrap_servers.clear();
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = false}), IsOk());
  EXPECT_THAT(ValidateConfig(config_, {.postgres = false, .kafka = true}),
              HasError(ErrorCode::kConfigValue, "kafka.bootstrap_servers"));
}

// A default outside of its range would be refused in a file that does not set the option.
TEST_F(ValidateConfigTest, EveryRangeSaysWhatItExpects) {
  size_t ranges = 0;
  for (const Option& option : Options()) {
    if (option.range.holds != nullptr) {
      ++ranges;
      EXPECT_FALSE(option.range.expected.empty()) << option.Name();
      EXPECT_TRUE(option.range.holds(config_)) << option.Name();
    }
  }
  EXPECT_GT(ranges, 10U);
}

}  // namespace
}  // namespace walrelay

#include "sinks/registry.h"

#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

TEST(RegistryTest, EveryPipelinePublishesToKafka) {
  const Config config;
  const auto sinks = MakeSinkFactory(config);
  ASSERT_NE(sinks, nullptr);
  EXPECT_EQ(sinks->library().name, "librdkafka");
}

TEST(RegistryTest, LibrariesHaveTheVersionsThatAreLoaded) {
  const auto libraries = SinkLibraries();
  ASSERT_EQ(libraries.size(), 1u);
  EXPECT_EQ(libraries[0].name, "librdkafka");
  EXPECT_EQ(libraries[0].version, MakeSinkFactory(Config())->library().version);
}

}  // namespace
}  // namespace walrelay

#include "config/bootstrap_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BootstrapServersTest, EachServerHasAPort) {
  EXPECT_THAT(BootstrapAddresses("a,b:9093"), ElementsAre("a:9092", "b:9093"));
  EXPECT_THAT(BootstrapAddresses("[::1],[::1]:9093"), ElementsAre("[::1]:9092", "[::1]:9093"));
}

TEST(BootstrapServersTest, ProtocolsAndSpacesAreLeftOut) {
  EXPECT_THAT(BootstrapAddresses("SSL://a , sasl_ssl://b:9093 "), ElementsAre("a:9092", "b:9093"));
}

TEST(BootstrapServersTest, EmptyEntriesAreLeftOut) {
  EXPECT_THAT(BootstrapAddresses(""), IsEmpty());
  EXPECT_THAT(BootstrapAddresses(",a, ,"), ElementsAre("a:9092"));
}

}  // namespace
}  // namespace walrelay

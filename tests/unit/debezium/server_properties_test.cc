#include "debezium/server_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

DebeziumProperty One(const std::string& name, const std::string& value) {
  return FromServerProperties({{name, value}}, "a test").properties.front();
}

TEST(ServerPropertiesTest, ExpressionsAreUnescaped) {
  EXPECT_EQ(One("debezium.transforms.o.route", "a.$${x}").value, "a.${x}");
  EXPECT_EQ(One("debezium.transforms.o.route", "a.\\${x}").value, "a.${x}");
  EXPECT_FALSE(One("debezium.transforms.o.route", "a.\\${x}").external);
  EXPECT_TRUE(One("debezium.source.database.password", "${PASSWORD}").external);
}

TEST(ServerPropertiesTest, VariablesAreNamedLikeProperties) {
  EXPECT_THAT(ParseEnvironment("# a comment\nexport DEBEZIUM_SOURCE_SLOT_NAME='my slot'\n"
                               "  DEBEZIUM_SOURCE_A=x=\"y\"\r\nB=\"z\"\nnot a variable\nC="),
              ElementsAre(Pair("debezium.source.slot.name", "my slot"),
                          Pair("debezium.source.a", "x=\"y\""), Pair("b", "z"), Pair("c", "")));
}

TEST(ServerPropertiesTest, EnvironmentIsRecognized) {
  EXPECT_TRUE(IsServerEnvironment("A=b\nexport DEBEZIUM_SOURCE_SLOT_NAME=x"));
  EXPECT_FALSE(IsServerEnvironment("debezium.source.slot.name=x"));
  EXPECT_FALSE(IsServerEnvironment("# DEBEZIUM_SOURCE_SLOT_NAME=x"));
}

}  // namespace
}  // namespace walrelay

#include "debezium/jaas_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(JaasConfigTest, ModuleAndOptionsAreParsed) {
  const auto login = ParseJaasConfig(
      "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
      "  username=\"a b\" password='p\"\\'=;' debug=true ;");
  ASSERT_THAT(login, IsOk());
  EXPECT_EQ(login->module, "org.apache.kafka.common.security.plain.PlainLoginModule");
  EXPECT_THAT(login->options, ElementsAre(Pair("debug", "true"), Pair("password", "p\"'=;"),
                                          Pair("username", "a b")));
}

TEST(JaasConfigTest, ErrorsDoNotQuoteTheText) {
  for (const char* text : {"", "Module", "Module required", "M required secret",
                           "M required a=", "M required a=\"secret", "M required a \"secret\";",
                           "M required a=\"secret\""}) {
    const auto login = ParseJaasConfig(text);
    EXPECT_THAT(login, HasError(ErrorCode::kConfigValue, "MODULE required")) << text;
    EXPECT_EQ(login.status().ToString().find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace walrelay

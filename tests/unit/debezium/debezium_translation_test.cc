#include "debezium/debezium_translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;

TEST(DebeziumTranslationTest, SettingsAreAppliedByName) {
  DebeziumTranslation translation;
  const PropertyResult result = translation.Set("source.slot", "orders", "as is");
  EXPECT_EQ(result.outcome, PropertyOutcome::kTranslated);
  EXPECT_EQ(result.setting, "source.slot");
  EXPECT_EQ(result.note, "as is");
  Config config;
  ASSERT_THAT(ApplyTranslation(translation, config), IsOk());
  EXPECT_EQ(config.source.slot, "orders");
}

TEST(DebeziumTranslationTest, ValueFromAProviderIsWanted) {
  DebeziumTranslation translation;
  EXPECT_EQ(translation.Want("source.password").outcome, PropertyOutcome::kTranslated);
  EXPECT_THAT(translation.required, ElementsAre("source.password"));
  EXPECT_TRUE(translation.settings.empty());
}

TEST(DebeziumTranslationTest, TablesShareColumnsAndPlacements) {
  DebeziumTranslation translation;
  (void)translation.Set("source.columns.payload", "body");
  translation.tables = {"public.a", "shop.b"};
  translation.placements = {{.column = "c", .where = Placement::Where::kHeader, .name = "h"}};
  Config config;
  ASSERT_THAT(ApplyTranslation(translation, config), IsOk());
  ASSERT_EQ(config.source.tables.size(), 2u);
  EXPECT_EQ(config.source.tables[1].schema, "shop");
  for (const OutboxTable& table : config.source.tables) {
    EXPECT_EQ(table.columns.payload, "body");
    EXPECT_EQ(table.placements.size(), 1u);
  }
}

TEST(DebeziumTranslationTest, InvalidSettingIsAnError) {
  DebeziumTranslation translation;
  (void)translation.Set("source.create_slot", "maybe");
  Config config;
  EXPECT_THAT(ApplyTranslation(translation, config), HasError(ErrorCode::kConfigValue));
}

TEST(DebeziumTranslationTest, OptionsHaveDefaults) {
  const DebeziumOptions options = {{"a", "1"}};
  EXPECT_EQ(ValueOr(options, "a", "2"), "1");
  EXPECT_EQ(ValueOr(options, "b", "2"), "2");
}

TEST(DebeziumTranslationTest, TextIsTrimmedLoweredAndSplitAsInJava) {
  EXPECT_EQ(JavaTrim("\x01 \ta b\n"), "a b");
  EXPECT_EQ(JavaLower(" ABC "), "abc");
  EXPECT_THAT(JavaSplit("a,,b,,", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(JavaSplit(",a", ','), ElementsAre("", "a"));
  EXPECT_THAT(JavaSplit("", ','), ElementsAre(""));
}

TEST(DebeziumTranslationTest, OnlyARegexOfOneTextHasALiteral) {
  EXPECT_EQ(LiteralOf("public\\.outbox"), "public.outbox");
  EXPECT_EQ(LiteralOf("public.outbox"), "public.outbox");
  for (const char* regex : {"a*", "a|b", "(a)", "[a]", "^a", "a$", "a?", "a{2}", "a\\"}) {
    EXPECT_EQ(LiteralOf(regex), "") << regex;
  }
}

}  // namespace
}  // namespace walrelay

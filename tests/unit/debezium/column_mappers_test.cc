#include "debezium/column_mappers.h"

#include <gtest/gtest.h>

#include "debezium/debezium_options.h"

namespace walrelay {
namespace {

class ColumnMappersTest : public ::testing::Test {
 protected:
  PropertyOutcome OutcomeOf(const std::string& value,
                            std::string_view name = "column.truncate.to.20.chars") {
    const auto result = TranslateColumnMapper(name, value, connector_, translation_);
    EXPECT_TRUE(result.has_value()) << name;
    return result ? result->outcome : PropertyOutcome::kTranslated;
  }

  DebeziumOptions connector_ = {{"table.include.list", "public\\.outbox"}};
  DebeziumTranslation translation_ = DebeziumDefaults();
};

TEST_F(ColumnMappersTest, PropertyOfOtherColumnsHasNoEffect) {
  EXPECT_EQ(OutcomeOf("public.customers.email, public.outbox.note"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(OutcomeOf("public\\.customers\\..*"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(OutcomeOf("payload"), PropertyOutcome::kMeaningless);
}

TEST_F(ColumnMappersTest, PropertyOfAPublishedColumnIsRefused) {
  for (const char* name : {"column.mask.with.8.chars", "column.truncate.to.20.chars",
                           "column.mask.hash.v2.SHA-256.with.salt.x"}) {
    EXPECT_EQ(OutcomeOf("public.customers.email,PUBLIC.Outbox.Payload", name),
              PropertyOutcome::kRefused)
        << name;
  }
  EXPECT_EQ(OutcomeOf(".*\\.aggregateid"), PropertyOutcome::kRefused);
  translation_.placements = {{.column = "email"}};
  EXPECT_EQ(OutcomeOf("public.outbox.email"), PropertyOutcome::kRefused);
  translation_.settings["route.timestamp"] = "column:happened_at";
  EXPECT_EQ(OutcomeOf("public.outbox.happened_at"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, PropertyThatCannotBeEvaluatedIsRefused) {
  EXPECT_EQ(OutcomeOf("public.(?!x)customers.email"), PropertyOutcome::kRefused);
  EXPECT_EQ(OutcomeOf("${file:/secrets:columns}"), PropertyOutcome::kRefused);
  connector_["table.include.list"] = "public.*";
  EXPECT_EQ(OutcomeOf("public.customers.email"), PropertyOutcome::kRefused);
  connector_.clear();
  EXPECT_EQ(OutcomeOf("public.customers.email"), PropertyOutcome::kRefused);
}

TEST_F(ColumnMappersTest, OtherPropertiesAreNotTranslated) {
  EXPECT_FALSE(TranslateColumnMapper("column.include.list", "x", connector_, translation_));
}

}  // namespace
}  // namespace walrelay

#include "debezium/converter_options.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class ConverterOptionsTest : public ::testing::Test {
 protected:
  Config Translate() {
    translation_ = {};
    for (const auto& [name, value] : connector_) {
      const auto result = TranslateConverterOption(name, value, connector_, translation_);
      EXPECT_TRUE(result && result->outcome == PropertyOutcome::kTranslated) << name;
    }
    Config config;
    EXPECT_THAT(ApplyTranslation(translation_, config), IsOk());
    return config;
  }

  DebeziumOptions connector_;
  DebeziumTranslation translation_;
};

TEST_F(ConverterOptionsTest, ConvertersBecomeFormats) {
  connector_ = {
      {"key.converter", "org.apache.kafka.connect.storage.StringConverter"},
      {"value.converter", "io.debezium.converters.BinaryDataConverter"},
      {"value.converter.delegate.converter.type", "org.apache.kafka.connect.json.JsonConverter"},
      {"value.converter.delegate.converter.type.schemas.enable", "false"}};
  const Config config = Translate();
  EXPECT_EQ(config.format.key.format, Format::kString);
  EXPECT_EQ(config.format.value.format, Format::kBytes);
  EXPECT_EQ(config.format.value.delegate, Delegate::kJson);
  connector_ = {{"value.converter", "org.apache.kafka.connect.json.JsonConverter"}};
  EXPECT_EQ(Translate().format.value.format, Format::kJsonSchema);
}

// For heartbeats and schema changes, which walrelay does not publish.
TEST_F(ConverterOptionsTest, DelegateWithARegistryIsAcceptedAndNotUsed) {
  const std::string delegate = "value.converter.delegate.converter.type";
  connector_ = {{"value.converter", "io.debezium.converters.BinaryDataConverter"},
                {delegate, "io.confluent.connect.avro.AvroConverter"},
                {delegate + ".schema.registry.url", "http://registry:8081"}};
  const auto result = [&](const std::string& name) {
    return *TranslateConverterOption(name, connector_[name], connector_, translation_);
  };
  EXPECT_EQ(result("value.converter").outcome, PropertyOutcome::kTranslated);
  EXPECT_EQ(result(delegate).outcome, PropertyOutcome::kEquivalent);
  EXPECT_EQ(result(delegate + ".schema.registry.url").outcome, PropertyOutcome::kMeaningless);
  Config config;
  EXPECT_THAT(ApplyTranslation(translation_, config), IsOk());
  EXPECT_EQ(config.format.value.format, Format::kBytes);
  EXPECT_EQ(config.format.value.delegate, Delegate::kNone);
  // As the converter itself it would convert every event.
  connector_ = {{"value.converter", "io.confluent.connect.avro.AvroConverter"}};
  EXPECT_EQ(result("value.converter").outcome, PropertyOutcome::kRefused);
}

TEST_F(ConverterOptionsTest, OtherPropertiesAreNotTranslated) {
  EXPECT_FALSE(TranslateConverterOption("converters", "geo", connector_, translation_).has_value());
}

}  // namespace
}  // namespace walrelay

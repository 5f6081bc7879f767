#include "debezium/debezium_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each property as "name=value".
std::vector<std::string> PropertiesOf(std::string_view text) {
  const auto file = ReadDebeziumFile(text);
  EXPECT_THAT(file, IsOk());
  std::vector<std::string> out;
  for (const DebeziumProperty& property :
       file.ok() ? file->properties : DebeziumFile().properties) {
    out.push_back(property.name + "=" + property.value);
  }
  return out;
}
std::string FormOf(std::string_view text) {
  const auto file = ReadDebeziumFile(text);
  return file.ok() ? file->form : ToString(CodeOf(file.status()));
}

TEST(DebeziumFileTest, FileIsRecognizedByItsContent) {
  EXPECT_TRUE(IsDebeziumFile(" \n{\"a\": 1}"));
  EXPECT_TRUE(IsDebeziumFile("# comment\napiVersion: kafka.strimzi.io/v1\n"));
  EXPECT_TRUE(IsDebeziumFile("name=x\n  connector.class=y\n"));
  EXPECT_TRUE(IsDebeziumFile("debezium.source.slot.name=x"));
  EXPECT_FALSE(IsDebeziumFile(""));
  EXPECT_FALSE(IsDebeziumFile("[source]\nslot = 'debezium.source.x'\n"));
}

TEST(DebeziumFileTest, ConnectsRestApiReturnsNameAndConfig) {
  constexpr std::string_view kText =
      R"({"name": "outbox", "config": {"slot.name": "s", "tasks.max": 1, "x": null}, "tasks": []})";
  EXPECT_THAT(PropertiesOf(kText), ElementsAre("name=outbox", "slot.name=s", "tasks.max=1"));
  EXPECT_THAT(FormOf(kText), HasSubstr("name and config"));
}

TEST(DebeziumFileTest, PropertiesMayStandAlone) {
  EXPECT_THAT(PropertiesOf(R"({"slot.name": "s"})"), ElementsAre("slot.name=s"));
  EXPECT_THAT(PropertiesOf("connector.class=c\nslot.name = s\n"),
              ElementsAre("connector.class=c", "slot.name=s"));
}

TEST(DebeziumFileTest, ResourceHasClassTasksAndSettingsOfStrimzi) {
  constexpr std::string_view kText =
      "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: kafka.strimzi.io/v1\n"
      "kind: KafkaConnector\nspec:\n  class: c\n  tasksMax: 1\n  pause: false\n  config:\n"
      "    slot.name: s\n";
  EXPECT_THAT(PropertiesOf(kText),
              ElementsAre("connector.class=c", "tasks.max=1", "spec.pause=false", "slot.name=s"));
}

TEST(DebeziumFileTest, NamesOfDebeziumServerBecomeThoseOfConnect) {
  EXPECT_THAT(PropertiesOf("debezium.source.slot.name=s\n"
                           "debezium.sink.kafka.producer.linger.ms=5\n"
                           "debezium.format.key=simplestring\n"
                           "debezium.transforms.outbox.route=$${routedByValue}\n"),
              ElementsAre("slot.name=s", "producer.override.linger.ms=5",
                          "key.converter=org.apache.kafka.connect.storage.StringConverter",
                          "transforms.outbox.route=${routedByValue}"));
}

TEST(DebeziumFileTest, ClassOfAConverterOverridesItsFormat) {
  EXPECT_THAT(
      PropertiesOf("debezium.source.a=b\ndebezium.format.header=json\n"
                   "debezium.format.header.class=org.x.Y\n"),
      ElementsAre("a=b", HasSubstr("overruled.header.converter="), "header.converter=org.x.Y"));
}

TEST(DebeziumFileTest, ExternalValuesAreMarked) {
  EXPECT_TRUE(AsksProvider("${file:/secrets:password}"));
  EXPECT_FALSE(AsksProvider("${routedByValue}"));
  EXPECT_FALSE(AsksProvider("a:b"));
  EXPECT_TRUE(ReadDebeziumFile(R"({"a": "${env:X}"})")->properties[0].external);
  EXPECT_TRUE(ReadDebeziumFile("debezium.source.a=${X}")->properties[0].external);
  EXPECT_FALSE(ReadDebeziumFile("debezium.source.a=$${X}")->properties[0].external);
}

TEST(DebeziumFileTest, OtherFilesAreRefused) {
  EXPECT_THAT(ReadDebeziumFile("[source]"), HasError(ErrorCode::kConnectorRefused));
  EXPECT_THAT(ReadDebeziumFile(R"({"a": ["b"]})"),
              HasError(ErrorCode::kConnectorRefused, "\"a\": expected a scalar value"));
  EXPECT_THAT(ReadDebeziumFile("apiVersion: v1\nkind: ConfigMap\n"),
              HasError(ErrorCode::kConnectorRefused, "no KafkaConnector"));
  EXPECT_THAT(ReadDebeziumFile("{"), HasError(ErrorCode::kConfigSyntax));
}

TEST(DebeziumFileTest, OneResourceIsExpected) {
  const std::string resource = "apiVersion: v1\nkind: KafkaConnector\nspec: {class: c}\n";
  EXPECT_THAT(ReadDebeziumFile(resource + "---\n" + resource),
              HasError(ErrorCode::kConnectorRefused, "several"));
}

}  // namespace
}  // namespace walrelay

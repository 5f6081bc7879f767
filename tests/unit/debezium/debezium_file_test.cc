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

TEST(DebeziumFileTest, OneOutboxAmongSeveralConnectorsIsExpected) {
  const std::string sink = "apiVersion: v1\nkind: KafkaConnector\nspec: {class: c}\n";
  const std::string outbox =
      "apiVersion: v1\nkind: KafkaConnector\nmetadata: {name: a}\nspec:\n  config:\n"
      "    transforms.o.type: io.debezium.transforms.outbox.EventRouter\n";
  EXPECT_THAT(PropertiesOf(sink + "---\n" + outbox), ElementsAre(HasSubstr("EventRouter")));
  EXPECT_THAT(ReadDebeziumFile(sink + "---\n" + sink),
              HasError(ErrorCode::kConnectorRefused, "none of them with an EventRouter"));
  EXPECT_THAT(ReadDebeziumFile(outbox + "---\n" + outbox),
              HasError(ErrorCode::kConnectorRefused, "several outbox connectors: a, a"));
}

TEST(DebeziumFileTest, ListHoldsResources) {
  EXPECT_THAT(PropertiesOf(R"({"apiVersion": "v1", "kind": "List", "items": [
      {"kind": "Secret"}, {"kind": "KafkaConnector", "spec": {"class": "c"}}]})"),
              ElementsAre("connector.class=c"));
  EXPECT_THAT(PropertiesOf("apiVersion: v1\nkind: KafkaConnectorList\nitems:\n"
                           "- kind: KafkaConnector\n  spec: {class: c}\n"),
              ElementsAre("connector.class=c"));
  EXPECT_THAT(ReadDebeziumFile(R"({"apiVersion": "v1", "kind": "List", "items": []})"),
              HasError(ErrorCode::kConnectorRefused, "no KafkaConnector"));
}

TEST(DebeziumFileTest, OtherToolsWrapTheProperties) {
  EXPECT_THAT(PropertiesOf(R"({"connectorConfiguration": {"slot.name": "s"}, "kafkaCluster": {
      "apacheKafkaCluster": {"bootstrapServers": "b:9098"}},
      "kafkaClusterClientAuthentication": {"authenticationType": "IAM"}})"),
              ElementsAre("slot.name=s", "producer.override.bootstrap.servers=b:9098",
                          "producer.override.security.protocol=SASL_SSL",
                          "producer.override.sasl.mechanism=AWS_MSK_IAM"));
  EXPECT_THAT(PropertiesOf(R"({"s": {"info": {"name": "s", "config": {"slot.name": "s"}}}})"),
              ElementsAre("name=s", "slot.name=s"));
  EXPECT_THAT(PropertiesOf("apiVersion: platform.confluent.io/v1beta1\nkind: Connector\n"
                           "spec: {taskMax: 1, configs: {slot.name: s}}\n"),
              ElementsAre("tasks.max=1", "slot.name=s"));
}

}  // namespace
}  // namespace walrelay

#include "debezium/connector_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "fakes/config_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kConnector = R"({
  "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
  "plugin.name": "pgoutput",
  "slot.name": "orders_outbox",
  "database.hostname": "db.internal",
  "database.user": "debezium",
  "database.dbname": "shop",
  "table.include.list": "public.outbox",
  "transforms": "outbox",
  "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
  "transforms.outbox.route.topic.replacement": "${routedByValue}.events",
  "value.converter": "org.apache.kafka.connect.storage.StringConverter",
  "key.converter": "org.apache.kafka.connect.storage.StringConverter"
})";

class ConnectorConfigTest : public testing::ConfigFixture {
 protected:
  ConnectorConfigTest() { input_.file_name = "connector.json"; }
  absl::StatusOr<LoadedConfig> TryLoad(std::string_view file) override {
    input_.file_text = file;
    return LoadConfigOrConnector(input_);
  }
};

TEST_F(ConnectorConfigTest, ConnectorFileIsConverted) {
  const auto loaded = TryLoad(kConnector);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.source.slot, "orders_outbox");
  EXPECT_EQ(loaded->config.route.topic, "${routedByValue}.events");
  EXPECT_EQ(loaded->origins.at("route.topic").text, "connector.json");
  EXPECT_THAT(loaded->import_summary, HasSubstr("0 refused"));
}

TEST_F(ConnectorConfigTest, FlagsOverrideTheConnector) {
  Flag("source.slot", "mine");
  EXPECT_EQ(Load(kConnector).source.slot, "mine");
}

TEST_F(ConnectorConfigTest, MissingPropertyIsRefusedUnlessAFlagDecidesIt) {
  std::string without(kConnector);
  without.erase(without.find("\"value.converter\""),
                without.find("\"key.converter\"") - without.find("\"value.converter\""));
  ExpectError(without, ErrorCode::kConnectorRefused, "value.converter: not set");
  Flag("format.value", "string");
  EXPECT_EQ(Load(without).format.value.format, Format::kString);
}

TEST_F(ConnectorConfigTest, WorkerSuppliesWhatTheConnectorOmits) {
  std::string without(kConnector);
  without.erase(without.find("\"value.converter\""),
                without.find("\"key.converter\"") - without.find("\"value.converter\""));
  input_.worker_text = "value.converter=org.apache.kafka.connect.storage.StringConverter\n";
  EXPECT_EQ(Load(without).format.value.format, Format::kString);
}

TEST_F(ConnectorConfigTest, TomlFileIsReadAsSuch) {
  const auto loaded = TryLoad("[source]\nslot = 'a'\n");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.source.slot, "a");
  EXPECT_EQ(loaded->import_summary, "");
}

class HostileConfigTest : public ConnectorConfigTest {
 protected:
  // Loading must return: success, or an error with one of the configuration's codes.
  void Survive(std::string_view file) {
    const auto loaded = TryLoad(file);
    if (!loaded.ok()) {
      const ErrorCode code = CodeOf(loaded.status());
      EXPECT_TRUE(code >= ErrorCode::kConfigSyntax && code <= ErrorCode::kConfigValue)
          << ToString(code);
      EXPECT_LT(MessageOf(loaded.status()).size(), 2'000u);
    }
  }
};

TEST_F(HostileConfigTest, RandomBytesAreHandled) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3'000; ++round) {
    std::string file(random() % 200, '\0');
    std::generate(file.begin(), file.end(), [&] { return static_cast<char>(random()); });
    Survive(file);
  }
}

TEST_F(HostileConfigTest, CharactersThatTheParserConsidersUnreachableAreHandled) {
  Survive("\xEF\xBB\xBD");  // U+FEFD
  Survive("\xCC\x87%");     // U+0307
}

TEST_F(HostileConfigTest, FlippedBytesOfARealFileAreHandled) {
  const std::string file =
      "[source]\nslot = 'a'\n[[source.tables]]\nname = 'a.b'\ncolumns = { id = '' }\n"
      "placement = [{ column = 'c', to = 'header' }]\n[kafka.librdkafka]\n'a.b' = 1\n[log]\nlevel "
      "= 'info'\n";
  std::mt19937_64 random(5);
  for (int round = 0; round < 5'000; ++round) {
    std::string flipped = file;
    flipped[random() % flipped.size()] = static_cast<char>(random());
    Survive(flipped);
  }
}

TEST_F(HostileConfigTest, DeepNestingIsHandled) {
  const auto repeat = [](std::string_view piece, size_t times) {
    std::string out;
    for (size_t i = 0; i < times; ++i) {
      out += piece;
    }
    return out;
  };
  for (const size_t depth : {100u, 300u, 5'000u, 200'000u}) {
    Survive("a = " + repeat("[", depth));
    Survive("a = " + repeat("[", depth) + repeat("]", depth));
    Survive("a = " + repeat("{a=", depth));
    Survive("[" + repeat("a.", depth) + "a]\n");
    Survive(repeat("a.", depth) + "a = 1\n");
    Survive("[source]\n" + repeat("columns.", depth) + "id = 1\n");
    Survive("[[" + repeat("a.", depth) + "a]]\n");
  }
}

TEST_F(HostileConfigTest, HugeValuesAreHandled) {
  const std::string megabytes(4 << 20, 'x');
  Survive("[source]\nslot = '" + megabytes + "'\n");
  Survive("[source]\n" + megabytes + " = 1\n");
  Survive("[" + megabytes + "]\n");
  Survive("[log]\nlevel = '" + megabytes + "'\n");
  Survive(megabytes);
  Survive("#" + megabytes);
  Survive("[source]\nslot = 99999999999999999999999999\n");
}

}  // namespace
}  // namespace walrelay

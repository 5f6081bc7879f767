// The sources of configuration values and their precedence. file_reader_test.cc tests the grammar
// of the file, validate_test.cc the constraints between values.
#include "config/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "config/option.h"
#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigLoaderTest : public testing::ConfigFixture {};

TEST_F(ConfigLoaderTest, EmptyFileGivesTheDefaults) {
  const Config config = Load("");
  EXPECT_EQ(config.source.slot, "walrelay");
  ASSERT_EQ(config.source.tables.size(), 1u);
  EXPECT_EQ(config.source.tables[0].name, "outbox");
  EXPECT_EQ(config.source.tables[0].columns.payload, std::nullopt);
  EXPECT_EQ(config.route.topic, "outbox.event.${routedByValue}");
  EXPECT_EQ(config.http.listen, "127.0.0.1:9464");
}

TEST_F(ConfigLoaderTest, FlagsOverrideVariablesAndVariablesOverrideTheFile) {
  constexpr std::string_view kFile =
      "[source]\nslot = 'file'\npublication = 'file'\n[http]\nlisten = 'file'\n";
  Variable("WALRELAY_SOURCE__SLOT", "variable");
  Variable("WALRELAY_SOURCE__PUBLICATION", "variable");
  Flag("source.slot", "flag");
  const Config config = Load(kFile);
  EXPECT_EQ(config.source.slot, "flag");
  EXPECT_EQ(config.source.publication, "variable");
  EXPECT_EQ(config.http.listen, "file");
}

TEST_F(ConfigLoaderTest, OriginsRecordTheSourceOfEachValue) {
  Variable("WALRELAY_LOG__LEVEL", "debug");
  Flag("metrics.max_topics", "7");
  const auto loaded = TryLoad("[source]\n  slot = 'a'\n[log]\nlevel = 'error'\n");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->origins.at("source.slot").text, "walrelay.toml:2:10");
  EXPECT_EQ(loaded->origins.at("log.level").text, "variable WALRELAY_LOG__LEVEL");
  EXPECT_EQ(loaded->origins.at("metrics.max_topics").text, "--set metrics.max_topics");
  EXPECT_FALSE(loaded->origins.contains("http.listen"));
}

TEST_F(ConfigLoaderTest, VariablesSetEveryKindOfKey) {
  Variable("WALRELAY_SOURCE__COLUMNS__AGGREGATE_TYPE", "kind");
  Variable("WALRELAY_SOURCE__CREATE_SLOT", "true");
  Variable("WALRELAY_ROUTE__ALLOW", "a.*,b");
  Variable("WALRELAY_ROUTE__MAX_TOPICS", "50");
  Variable("WALRELAY_PIPELINE__CONFIRM_INTERVAL", "250ms");
  Variable("WALRELAY_PIPELINE__MAX_IN_FLIGHT_BYTES", "64MiB");
  Variable("WALRELAY_SOURCE__ON_UPDATE", "fail");
  Variable("WALRELAY_KAFKA__LIBRDKAFKA__SOCKET__TIMEOUT__MS", "15000");
  const Config config = Load("");
  EXPECT_EQ(config.source.tables[0].columns.aggregate_type, "kind");
  EXPECT_TRUE(config.source.create_slot);
  EXPECT_EQ(config.route.allow, (std::vector<std::string>{"a.*", "b"}));
  EXPECT_EQ(config.route.max_topics, 50);
  EXPECT_EQ(config.pipeline.confirm_interval, 250ms);
  EXPECT_EQ(config.pipeline.max_in_flight_bytes, 64 << 20);
  EXPECT_EQ(config.source.on_update, OnUpdate::kFail);
  ASSERT_EQ(config.kafka.librdkafka.size(), 1u);
  EXPECT_EQ(config.kafka.librdkafka[0].first, "socket.timeout.ms");
}

TEST_F(ConfigLoaderTest, EveryOptionCanBeSetByVariable) {
  for (const Option& option : Options()) {
    std::string name = "WALRELAY_" + option.Name();
    for (size_t dot = 0; (dot = name.find('.')) != std::string::npos;) {
      name.replace(dot, 1, "__");
    }
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    input_.environment = {{name, "?"}};
    const auto loaded = TryLoad("");
    EXPECT_FALSE(HasCode(StatusOf(loaded), ErrorCode::kConfigUnknownKey)) << name;
  }
}

TEST_F(ConfigLoaderTest, UnrelatedVariablesAreIgnored) {
  Variable("PATH", "/bin");
  Variable("WALRELAY_CONFIG", "other.toml");
  Variable("WALRELAY_CACHE", "/var/cache");
  Variable("MY_WALRELAY_SOURCE__SLOT", "other");
  Variable("WALRELAY_SLOT", "other");
  Variable("WALRELAY_SOURCE_PORT", "tcp://10.0.0.1:80");
  Variable("WALRELAY_SERVICE_HOST", "10.0.0.1");
  EXPECT_EQ(Load("").source.slot, "walrelay");
}

TEST_F(ConfigLoaderTest, MisspelledVariableOrFlagIsAnErrorWithASuggestion) {
  Variable("WALRELAY_SOURCE__SLOTT", "x");
  ExpectUnknown("",
                "variable WALRELAY_SOURCE__SLOTT: unknown option \"source.slott\"; did you mean "
                "\"source.slot\"?");
  input_.environment.clear();
  Flag("kafka.bootstrap_server", "x");
  ExpectUnknown(
      "",
      "--set kafka.bootstrap_server: unknown option \"kafka.bootstrap_server\"; did you mean "
      "\"kafka.bootstrap_servers\"?");
}

TEST_F(ConfigLoaderTest, VariableWithOneUnderscoreIsAnErrorWithASuggestion) {
  Variable("WALRELAY_KAFKA_BOOTSTRAP_SERVERS", "x");
  ExpectUnknown(
      "",
      "variable WALRELAY_KAFKA_BOOTSTRAP_SERVERS: two underscores separate a section from "
      "its key; did you mean WALRELAY_KAFKA__BOOTSTRAP_SERVERS?");
  input_.environment = {{"WALRELAY_SOURCE_COLUMNS_ID", "x"}};
  ExpectUnknown("", "WALRELAY_SOURCE__COLUMNS__ID");
}

TEST_F(ConfigLoaderTest, AllErrorsAreReportedInTheOrderOfTheFile) {
  Flag("metrics.max_topics", "many");
  const auto loaded = TryLoad(
      "[source]\nslott = 'a'\nconnect_timeout = '1ms'\n[log]\nlevel = 'loud'\n[kafka]\n"
      "compression = 7\n");
  ASSERT_THAT(loaded, HasError(ErrorCode::kConfigErrors));
  const std::string message = MessageOf(loaded.status());
  size_t last = 0;
  for (const char* part : {"walrelay.toml:2:1: unknown key",
                           "walrelay.toml:3:19: source.connect_ti", "walrelay.toml:5:9: log.level",
                           "walrelay.toml:7:15: kafka.compression", "--set metrics.max_topics"}) {
    const size_t found = message.find(part);
    ASSERT_NE(found, std::string::npos) << part << " in " << message;
    EXPECT_GE(found, last) << part << " in " << message;
    last = found;
  }
}

// The second error would only say that the misspelt key is missing.
TEST_F(ConfigLoaderTest, MisspelledKeyIsNotReportedAsMissing) {
  Bare();
  const auto loaded = TryLoad("[source]\ndns = 'host=db'\n[kafka]\nbootstrap_server = 'k:1'\n");
  ASSERT_THAT(loaded, HasError(ErrorCode::kConfigErrors));
  EXPECT_THAT(MessageOf(loaded.status()), Not(HasSubstr("is missing")));
}

TEST_F(ConfigLoaderTest, RenamedOptionIsAnErrorWithTheNewName) {
  Variable("WALRELAY_ROUTE__RULES", "debezium");
  ExpectUnknown("", "option \"route.rules\" was renamed to \"route.compatibility\"");
  input_.environment.clear();
  Flag("metrics.slot_interval", "1s");
  ExpectUnknown("",
                "option \"metrics.slot_interval\" was renamed to \"metrics.slot_poll_interval\"");
}

TEST_F(ConfigLoaderTest, ReplacedOptionIsAnErrorWithTheNewValue) {
  Variable("WALRELAY_PIPELINE__DELIVERY", "exactly_once");
  ExpectUnknown("",
                "variable WALRELAY_PIPELINE__DELIVERY: pipeline.delivery = \"exactly_once\" is now "
                "pipeline.mode = \"exactly_once\"");
  input_.environment.clear();
  Flag("pipeline.resume", "topics");
  ExpectUnknown(
      "", "--set pipeline.resume: pipeline.resume = \"topics\" is now pipeline.mode = \"topics\"");
}

TEST_F(ConfigLoaderTest, ReplacedVariableWithOneUnderscoreIsAnError) {
  input_.environment = {{"WALRELAY_PIPELINE_DELIVERY", "exactly_once"}};
  ExpectUnknown("", "did you mean WALRELAY_PIPELINE__MODE?");
}

TEST_F(ConfigLoaderTest, FlagWithoutASectionIsUnknown) {
  Flag("slot", "x");
  ExpectUnknown("", "unknown option \"slot\"");
}

TEST_F(ConfigLoaderTest, EmptyTextIsAnEmptyList) {
  Flag("route.allow", "");
  EXPECT_TRUE(Load("[route]\nallow = ['a']\n").route.allow.empty());
}

TEST_F(ConfigLoaderTest, TextOfAWrongTypeIsRefusedWithItsSource) {
  struct Bad {
    const char* name;
    const char* text;
    const char* part;
  };
  const auto complete = input_.overrides;
  for (const Bad& bad :
       {Bad{"source.create_slot", "yes", "true or false"},
        Bad{"route.max_topics", "many", "whole number"},
        Bad{"route.max_topics", "1.5", "whole number"}, Bad{"route.max_topics", "", "whole number"},
        Bad{"route.max_topics", "0", "from 1 up"},
        Bad{"route.max_topics", "99999999999999999999", "whole number"},
        Bad{"pipeline.drain_timeout", "30", "duration"},
        Bad{"kafka.max_record_bytes", "1MB", "size"}, Bad{"kafka.max_record_bytes", "0", "size"},
        Bad{"kafka.compression", "brotli", "one of none, lz4, zstd, gzip, snappy"},
        Bad{"source.on_update", "", "one of ignore, fail"},
        Bad{"route.timestamp", "column:", "\"column:NAME\""},
        Bad{"source.table", "public.", "schema.table"},
        Bad{"source.table", ".outbox", "schema.table"}}) {
    input_.overrides = complete;
    Flag(bad.name, bad.text);
    ExpectBadValue("", bad.part);
    ExpectBadValue("", std::string("--set ") + bad.name);
  }
}

TEST_F(ConfigLoaderTest, MissingRequiredOptionIsReportedWithAnExample) {
  Bare();
  const auto no_source = TryLoad("[kafka]\nbootstrap_servers = 'k:1'\n");
  ASSERT_THAT(no_source, HasError(ErrorCode::kConfigValue, "source.dsn is missing"));
  EXPECT_THAT(RemedyFor(no_source.status()), HasSubstr("WALRELAY_SOURCE__DSN"));
  const auto no_kafka = TryLoad("[source]\ndsn = 'host=db'\n");
  ASSERT_THAT(no_kafka, HasError(ErrorCode::kConfigValue, "kafka.bootstrap_servers is missing"));
  EXPECT_THAT(RemedyFor(no_kafka.status()), HasSubstr("WALRELAY_KAFKA__BOOTSTRAP_SERVERS"));
}

// Whatever the error is, its message contains no secret.
TEST_F(ConfigLoaderTest, NoErrorContainsASecret) {
  for (const char* file :
       {"[source]\npassword = hunter2\n", "[source]\npassword = 'hunter2\n",
        "[source]\npassword = \"hunter2\\q\"\n", "[source]\npassword = 'hunter2' x\n",
        "[source]\npassword = ['hunter2']\n", "[source]\npasword = 'hunter2'\n",
        "[source]\npassword = 'a'\npassword = 'hunter2'\n",
        "[kafka]\nsasl_password = \"hunter2\\u0000\"\n",
        "[kafka.librdkafka]\n\"sasl.password\" = ['hunter2']\n",
        "[source]\npassword.hunter = 'hunter2'\n"}) {
    const auto loaded = TryLoad(file);
    ASSERT_FALSE(loaded.ok()) << file;
    EXPECT_THAT(Explain(loaded.status()), Not(HasSubstr("hunter2"))) << file;
  }
  Variable("WALRELAY_SOURCE__PASWORD", "hunter2");
  EXPECT_THAT(Explain(TryLoad("").status()), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace walrelay

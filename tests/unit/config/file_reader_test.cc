// The sections of walrelay.toml and the errors for invalid content, through the loader.
#include "config/file_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ConfigFileTest : public testing::ConfigFixture {};

TEST_F(ConfigFileTest, SourceSectionIsRead) {
  Bare();
  const Config config = Load(R"toml(
    config_version = 1
    kafka.bootstrap_servers = "k"
    [source]
    dsn = "host=db"
    password = "p"
    password_file = "/run/secrets/p"
    slot = "s_1"
    publication = "Pub 1"
    table = "shop.events"
    on_update = "fail"
    create_slot = true
    binary = true
    allow_insecure = true
    connect_timeout = "3s"
    wal_sender_timeout = "0"
    [source.columns]
    id = "event_id"
    aggregate_type = "kind"
    aggregate_id = "key"
    event_type = ""
    payload = "body"
    trace_id = "trace"
  )toml");
  const SourceConfig& source = config.source;
  EXPECT_EQ(source.dsn, "host=db");
  EXPECT_EQ(source.password.Reveal(), "p");
  EXPECT_EQ(source.password_file, "/run/secrets/p");
  EXPECT_EQ(source.slot, "s_1");
  EXPECT_EQ(source.publication, "Pub 1");
  EXPECT_EQ(source.on_update, OnUpdate::kFail);
  EXPECT_TRUE(source.create_slot && source.binary && source.allow_insecure);
  EXPECT_EQ(source.connect_timeout, 3s);
  EXPECT_EQ(source.wal_sender_timeout, 0s);
  ASSERT_EQ(source.tables.size(), 1u);
  const OutboxTable& table = source.tables[0];
  EXPECT_EQ(table.schema, "shop");
  EXPECT_EQ(table.name, "events");
  EXPECT_EQ(table.columns.id, "event_id");
  EXPECT_EQ(table.columns.aggregate_type, "kind");
  EXPECT_EQ(table.columns.aggregate_id, "key");
  EXPECT_EQ(table.columns.event_type, "");
  EXPECT_EQ(table.columns.payload, "body");
  EXPECT_EQ(table.columns.trace_id, "trace");
}

TEST_F(ConfigFileTest, RouteSectionIsRead) {
  const Config config = Load(R"toml(
    [route]
    topic = "t.$1"
    regex = "(.*)"
    allow = ["t.*", "u"]
    max_topics = 5
    timestamp = "column:created_at"
  )toml");
  const RouteConfig& route = config.route;
  EXPECT_EQ(route.topic, "t.$1");
  EXPECT_EQ(route.regex, "(.*)");
  EXPECT_THAT(route.allow, ElementsAre("t.*", "u"));
  EXPECT_EQ(route.max_topics, 5);
  EXPECT_EQ(route.timestamp, TimestampSource::kColumn);
  EXPECT_EQ(route.timestamp_column, "created_at");
  EXPECT_EQ(Load("[route]\ntimestamp = ['column:at', 'column:created']\n").route.timestamp_column,
            ColumnNames(std::vector<std::string>{"at", "created"}));
  ExpectBadValue("[route]\ntimestamp = ['column:at', 'now']\n", "or a list of the last");
  ExpectBadValue("[route]\ntimestamp = ''\n", "expected \"commit\", \"now\"");
  EXPECT_EQ(Load("[route]\ntimestamp = 'now'\n").route.timestamp, TimestampSource::kNow);
  EXPECT_EQ(Load("[route]\ntimestamp = 'commit'\n").route.timestamp, TimestampSource::kCommit);
}

TEST_F(ConfigFileTest, OnErrorSectionIsRead) {
  const Config config = Load(R"toml(
    [on_error]
    null_route = "skip"
    null_key = "dead_letter"
    topic = "skip"
    too_large = "dead_letter"
    value = "stop"
    dead_letter_topic = "dead"
  )toml");
  const ErrorPolicy& policy = config.on_error;
  EXPECT_EQ(policy.null_route, OnError::kSkip);
  EXPECT_EQ(policy.null_key, OnError::kDeadLetter);
  EXPECT_EQ(policy.topic, OnError::kSkip);
  EXPECT_EQ(policy.too_large, OnError::kDeadLetter);
  EXPECT_EQ(policy.value, OnError::kStop);
  EXPECT_EQ(policy.dead_letter_topic, "dead");
}

TEST_F(ConfigFileTest, KafkaSectionIsRead) {
  Bare();
  const Config config = Load(R"toml(
    source.dsn = "host=db"
    [kafka]
    bootstrap_servers = "a:1,b:2"
    client_id = "c"
    security_protocol = "SASL_SSL"
    sasl_mechanism = "PLAIN"
    sasl_username = "u"
    sasl_password = "p"
    sasl_password_file = "pf"
    ssl_ca_file = "ca"
    ssl_certificate_file = "cert"
    ssl_key_file = "key"
    ssl_key_password = "kp"
    ssl_key_password_file = "kpf"
    compression = "zstd"
    max_record_bytes = "8MiB"
    allow_insecure = true
  )toml");
  const KafkaConfig& kafka = config.kafka;
  EXPECT_EQ(kafka.bootstrap_servers, "a:1,b:2");
  EXPECT_EQ(kafka.client_id, "c");
  EXPECT_EQ(kafka.security_protocol, "SASL_SSL");
  EXPECT_EQ(kafka.sasl_mechanism, "PLAIN");
  EXPECT_EQ(kafka.sasl_username, "u");
  EXPECT_EQ(kafka.sasl_password.Reveal(), "p");
  EXPECT_EQ(kafka.sasl_password_file, "pf");
  EXPECT_EQ(kafka.ssl_ca_file, "ca");
  EXPECT_EQ(kafka.ssl_certificate_file, "cert");
  EXPECT_EQ(kafka.ssl_key_file, "key");
  EXPECT_EQ(kafka.ssl_key_password.Reveal(), "kp");
  EXPECT_EQ(kafka.ssl_key_password_file, "kpf");
  EXPECT_EQ(kafka.compression, "zstd");
  EXPECT_EQ(kafka.max_record_bytes, 8 << 20);
  EXPECT_TRUE(kafka.allow_insecure);
}

TEST_F(ConfigFileTest, OtherSectionsAreRead) {
  const Config config = Load(R"toml(
    [pipeline]
    max_in_flight_records = 5
    max_in_flight_bytes = 1024
    confirm_interval = "1s"
    drain_timeout = "2m"
    [http]
    listen = ""
    [metrics]
    slot_poll_interval = "1m"
    max_topics = 3
    [log]
    level = "warning"
    format = "json"
  )toml");
  EXPECT_EQ(config.pipeline.max_in_flight_records, 5);
  EXPECT_EQ(config.pipeline.max_in_flight_bytes, 1024);
  EXPECT_EQ(config.pipeline.confirm_interval, 1s);
  EXPECT_EQ(config.pipeline.drain_timeout, 2min);
  EXPECT_EQ(config.http.listen, "");
  EXPECT_EQ(config.metrics.slot_poll_interval, 1min);
  EXPECT_EQ(config.metrics.max_topics, 3);
  EXPECT_EQ(config.log.level, LogLevel::kWarning);
  EXPECT_EQ(config.log.format, LogFormat::kJson);
}

TEST_F(ConfigFileTest, TableWithoutASchemaIsInPublic) {
  const Config config = Load("[source]\ntable = 'events'\n");
  EXPECT_EQ(config.source.tables[0].schema, "public");
  EXPECT_EQ(config.source.tables[0].name, "events");
}

TEST_F(ConfigFileTest, TablesInheritCommonColumnsAndPlacements) {
  const Config config = Load(R"toml(
    [[source.tables]]
    name = "shop.outbox"
    [[source.tables]]
    name = "events"
    columns = { aggregate_type = "kind", event_type = "" }
    placement = [{ column = "tenant" }]
    [source.columns]
    payload = "body"
    aggregate_type = "common"
    [[source.placement]]
    column = "shard"
    to = "partition"
  )toml");
  ASSERT_EQ(config.source.tables.size(), 2u);
  const OutboxTable& shop = config.source.tables[0];
  const OutboxTable& events = config.source.tables[1];
  EXPECT_EQ(shop.schema, "shop");
  EXPECT_EQ(shop.name, "outbox");
  EXPECT_EQ(shop.columns.payload, "body");
  EXPECT_EQ(shop.columns.aggregate_type, "common");
  EXPECT_EQ(shop.columns.event_type, std::nullopt);
  ASSERT_EQ(shop.placements.size(), 1u);
  EXPECT_EQ(events.schema, "public");
  EXPECT_EQ(events.columns.payload, "body");
  EXPECT_EQ(events.columns.aggregate_type, "kind");
  EXPECT_EQ(events.columns.event_type, "");
  ASSERT_EQ(events.placements.size(), 2u);
  EXPECT_EQ(events.placements[0].column, "shard");
  EXPECT_EQ(events.placements[1].column, "tenant");
}

TEST_F(ConfigFileTest, PassThroughAcceptsStringsNumbersAndBooleans) {
  EXPECT_THAT(
      Load("[kafka.librdkafka]\n\"socket.timeout.ms\" = 15000\n\"broker.address.family\" = 'v4'\n"
           "\"socket.keepalive.enable\" = true\n")
          .kafka.librdkafka,
      UnorderedElementsAre(Pair("socket.timeout.ms", "15000"), Pair("broker.address.family", "v4"),
                           Pair("socket.keepalive.enable", "true")));
}

TEST_F(ConfigFileTest, PassThroughFlagOverridesTheFile) {
  Flag("kafka.librdkafka.socket.timeout.ms", "1");
  EXPECT_THAT(Load("[kafka.librdkafka]\n\"socket.timeout.ms\" = 15000\n").kafka.librdkafka,
              ElementsAre(Pair("socket.timeout.ms", "1")));
}

TEST_F(ConfigFileTest, UnknownKeyIsReportedWithPositionAndSuggestion) {
  ExpectUnknown("[source]\n  slott = 'x'\n",
                "walrelay.toml:2:3: unknown key in [source]: \"slott\"; did you mean "
                "\"slot\"?");
  ExpectUnknown("[source.columns]\nagregate_id = 'x'\n",
                "walrelay.toml:2:1: unknown key in [source.columns]: "
                "\"agregate_id\"; did you mean \"aggregate_id\"?");
  ExpectUnknown("[sauce]\n",
                "walrelay.toml:1:2: unknown section \"sauce\"; did you mean \"source\"?");
  ExpectUnknown("[kafka]\nlibrdkaka = { a = 1 }\n", "did you mean \"librdkafka\"?");
  ExpectUnknown("[source]\ntabels = []\n", "did you mean \"tables\"?");
  ExpectUnknown("[[source.tables]]\nnam = 'a'\n",
                "unknown key of a table \"nam\"; did you mean \"name\"?");
  ExpectUnknown("[[source.placement]]\ncolum = 'a'\n", "unknown key of a placement \"colum\"");
}

TEST_F(ConfigFileTest, KeyOfAnotherSectionIsRecognized) {
  ExpectUnknown("[source]\ncompression = 'lz4'\n", "did you mean \"compression\" in [kafka]?");
}

TEST_F(ConfigFileTest, SyntaxErrorsSayWhatToWrite) {
  ExpectError("[source]\ndsn = postgresql://u@h/d\n", ErrorCode::kConfigSyntax,
              "walrelay.toml:2:7: dsn: text must be in quotes");
  for (const char* file :
       {"[source]\nslot = \"a\npublication = \"b\"\n", "[source]\nslot = 'a\n"}) {
    ExpectError(file, ErrorCode::kConfigSyntax, "slot: the string is not closed");
  }
  ExpectError("[source]\nslot = 'a\x01z'\n", ErrorCode::kConfigSyntax, "control characters");
}

// One error each: what follows from it is not reported.
TEST_F(ConfigFileTest, ErrorIsReportedOnce) {
  ExpectUnknown("[[source.tables]]\nnam = 'a'\n[[source.tables]]\nname = 'public.outbox'\n", "nam");
  ExpectBadValue("[[source.tables]]\nname = 5\n[[source.tables]]\nname = 'public.outbox'\n",
                 "source.tables.name");
}

TEST_F(ConfigFileTest, TableNamesMayBeQuoted) {
  const auto table = [this](const std::string& name) {
    const Config config = Load("[source]\ntable = '" + name + "'\n");
    return config.source.tables[0].schema + "|" + config.source.tables[0].name;
  };
  EXPECT_EQ(table("outbox"), "public|outbox");
  EXPECT_EQ(table("a.b"), "a|b");
  EXPECT_EQ(table("a.\"b.c\""), "a|b.c");
  EXPECT_EQ(table("\"a.b\".c"), "a.b|c");
  EXPECT_EQ(table("\"a\"\"b\""), "public|a\"b");
  for (const char* bad : {"a.b.c", "\"a", "\"a\"b", "a..b", "\"\".a", ".", "a."}) {
    ExpectBadValue(std::string("[source]\ntable = '") + bad + "'\n",
                   "source.table: expected a table");
  }
}

TEST_F(ConfigFileTest, RenamedKeyIsAnErrorWithTheNewName) {
  ExpectUnknown("[route]\n  rules = 'debezium'\n",
                "walrelay.toml:2:3: option \"route.rules\" was renamed to \"route.compatibility\"");
  ExpectUnknown("[metrics]\nslot_interval = '1s'\n",
                "walrelay.toml:2:1: option \"metrics.slot_interval\" was renamed to "
                "\"metrics.slot_poll_interval\"");
}

TEST_F(ConfigFileTest, ReplacedKeyIsAnErrorWithTheNewValue) {
  ExpectUnknown("[pipeline]\ndelivery = 'exactly_once'\n",
                "walrelay.toml:2:1: pipeline.delivery = \"exactly_once\" is now pipeline.mode = "
                "\"exactly_once\"");
  ExpectUnknown("[pipeline]\nresume = 1\n",
                "walrelay.toml:2:1: pipeline.resume is now pipeline.mode, with the values");
}

// One error each, and none that only follows from them.
TEST_F(ConfigFileTest, ReplacedKeysAreAllNamed) {
  const auto loaded = TryLoad(
      "[pipeline]\nresume = 'topics'\ndelivery = 'at_least_once'\nprogress = 'off'\nmode = "
      "'topics'\n");
  ASSERT_THAT(loaded, HasError(ErrorCode::kConfigErrors));
  const std::string message = MessageOf(loaded.status());
  EXPECT_THAT(message, ::testing::HasSubstr(
                           "pipeline.resume = \"topics\" is now pipeline.mode = \"topics\""));
  EXPECT_THAT(message,
              ::testing::HasSubstr("pipeline.delivery = \"at_least_once\" is now pipeline.mode = "
                                   "\"slot\", or \"topics\" where"));
  EXPECT_EQ(message.find("excludes"), std::string::npos) << message;
}

TEST_F(ConfigFileTest, KeyWithoutASimilarNameHasNoSuggestion) {
  const auto loaded = TryLoad("[source]\nxxxxxxxxxxxxxxxxx = 1\n");
  ASSERT_THAT(loaded, HasError(ErrorCode::kConfigUnknownKey, "\"xxxxxxxxxxxxxxxxx\""));
  EXPECT_EQ(MessageOf(loaded.status()).find("did you mean"), std::string::npos);
}

TEST_F(ConfigFileTest, KeysOutsideSectionsAreUnknown) {
  ExpectUnknown("slot = 'x'\n",
                "walrelay.toml:1:1: unknown key outside of a section \"slot\"; did you mean "
                "\"slot\" in [source]?");
  ExpectUnknown("foo = 1\n", "expected one of source, route,");
}

TEST_F(ConfigFileTest, KeyNamesAreTruncatedAndEscaped) {
  ExpectUnknown("\"a\\nb\" = 1\n", "\"a\\x0ab\"");
}

TEST_F(ConfigFileTest, SectionOfAWrongTypeIsNotReportedAsUnknown) {
  ExpectBadValue("source = 5\n", "walrelay.toml:1:10: source: expected a table");
  ExpectBadValue("[source]\ncolumns = 'id'\n",
                 "walrelay.toml:2:11: source.columns: expected a table");
  ExpectBadValue("[kafka]\nlibrdkafka = 5\n",
                 "walrelay.toml:2:14: kafka.librdkafka: expected a table");
  ExpectBadValue("[source]\nplacement = 5\n", "walrelay.toml:2:13: expected an array of tables");
  ExpectBadValue("[source]\ntables = 'a'\n", "walrelay.toml:2:10: expected an array of tables");
  ExpectBadValue("[source]\ntables = []\n", "expected an array of tables");
  ExpectBadValue("[source]\nplacement = [1]\n", "expected an array of tables");
  ExpectBadValue("[[source.tables]]\nname = 'a'\ncolumns = 5\n",
                 "source.columns: expected a table");
}

TEST_F(ConfigFileTest, ValueOfAWrongTypeIsReportedWithPositionAndExpectedType) {
  ExpectBadValue("[source]\nslot = 5\n", "walrelay.toml:2:8: source.slot: expected a string");
  ExpectBadValue("[source]\nslot = 1.5\n", "walrelay.toml:2:8: source.slot: expected a string");
  ExpectBadValue("[source]\ncreate_slot = 'true'\n", "expected true or false");
  ExpectBadValue("[source]\non_update = 1\n", "expected one of ignore, fail");
  ExpectBadValue("[route]\nmax_topics = '5'\n", "whole number");
  ExpectBadValue("[route]\nmax_topics = -5\n", "from 1 up");
  ExpectBadValue("[route]\nallow = 'a'\n", "expected a list of strings");
  ExpectBadValue("[route]\nallow = ['a', 1]\n", "expected a list of strings");
  ExpectBadValue("[pipeline]\nconfirm_interval = 100\n", "a duration such as \"30s\"");
  ExpectBadValue("[pipeline]\nmax_in_flight_bytes = 0\n", "from 1 up");
  ExpectBadValue("[pipeline]\nmax_in_flight_bytes = '0'\n", "a size such as \"64MiB\"");
  ExpectBadValue("[source]\nslot = { a = 1 }\n", "source.slot: expected a string");
}

TEST_F(ConfigFileTest, InvalidTablesAreReported) {
  ExpectBadValue("[[source.tables]]\ncolumns = { id = 'a' }\n",
                 "walrelay.toml:1:1: source.tables: a table requires a name");
  for (const char* name : {"5", "1.5", "''", "['a']"}) {
    ExpectBadValue(std::string("[[source.tables]]\nname = ") + name + "\n",
                   "walrelay.toml:2:8: source.tables.name: expected the name of a table");
  }
  ExpectBadValue("[[source.tables]]\nname = 'a.'\n", "schema.table");
  ExpectBadValue("[source]\ntable = 'a'\n[[source.tables]]\nname = 'b'\n",
                 "either source.table or [[source.tables]]");
}

TEST_F(ConfigFileTest, PassThroughRefusesArraysDatesAndTables) {
  ExpectBadValue("[kafka.librdkafka]\n\"a.b\" = ['x']\n",
                 "\"a.b\": expected a string, a number or a boolean");
  ExpectBadValue("[kafka.librdkafka]\n\"a.b\" = 1979-05-27\n",
                 "\"a.b\": expected a string, a number or a boolean");
  // A dotted key without quotes is a table to TOML.
  ExpectBadValue("[kafka.librdkafka]\nsocket.timeout.ms = 1\n",
                 "must be in quotes: \"socket.timeout.ms\"");
}

// C libraries end a string at a zero byte and would use only the part before it.
TEST_F(ConfigFileTest, ZeroBytesAreRefusedEverywhere) {
  for (const char* file :
       {"[source]\nslot = \"a\\u0000\"\n", "[source]\npassword = \"a\\u0000\"\n",
        "[source.columns]\nid = \"a\\u0000\"\n", "[route]\nallow = [\"a\\u0000\"]\n",
        "[kafka.librdkafka]\n\"a\" = \"b\\u0000\"\n", "[kafka.librdkafka]\n\"a\\u0000\" = \"b\"\n",
        "[[source.placement]]\ncolumn = \"a\\u0000\"\n",
        "[[source.placement]]\ncolumn = 'a'\nas = \"a\\u0000\"\n"}) {
    ExpectBadValue(file, "zero byte");
  }
}

TEST_F(ConfigFileTest, OnlyConfigVersionOneIsAccepted) {
  Load("config_version = 1\n");
  ExpectBadValue("config_version = 2\n", "walrelay.toml:1:18: unknown config_version; expected 1");
  ExpectBadValue("config_version = '1'\n", "unknown config_version");
  ExpectBadValue("config_version = {}\n", "unknown config_version");
}

TEST_F(ConfigFileTest, SyntaxErrorsAreReportedWithTheirPosition) {
  ExpectError("[source]\nslot = \n", ErrorCode::kConfigSyntax, "walrelay.toml:2:");
  ExpectError("[=]\n", ErrorCode::kConfigSyntax, "walrelay.toml:1:2: ");
  ExpectError("[source\n", ErrorCode::kConfigSyntax, "walrelay.toml:1:");
  ExpectError("[source]\nslot = 'a'\nslot = 'b'\n", ErrorCode::kConfigSyntax, "walrelay.toml:3:");
  ExpectError("[source]\n[source]\n", ErrorCode::kConfigSyntax, "walrelay.toml:2:");
  ExpectError("[source]\nslot = '\xff'\n", ErrorCode::kConfigSyntax, "walrelay.toml:2:");
}

}  // namespace
}  // namespace walrelay

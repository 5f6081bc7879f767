// Realistic connector files: the converted configuration and the report for each property.
#include "debezium/debezium_import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/loader.h"
#include "config/option.h"
#include "debezium/debezium_report.h"
#include "fakes/config_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// The outbox event router example of Debezium's documentation, plus the properties that a real
// connector needs.
constexpr std::string_view kImported = R"({
  "name": "outbox-connector",
  "config": {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "plugin.name": "pgoutput",
    "database.hostname": "db.internal",
    "database.port": 5432,
    "database.user": "debezium",
    "database.password": "hush 'db'",
    "database.dbname": "shop",
    "topic.prefix": "fulfillment",
    "slot.name": "outbox_slot",
    "publication.name": "outbox_pub",
    "table.include.list": "public\\.outbox",
    "snapshot.mode": "no_data",
    "tombstones.on.delete": "false",
    "heartbeat.interval.ms": "10000",
    "transforms": "events",
    "transforms.events.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.events.table.fields.additional.placement": "type:header:eventType",
    "transforms.events.route.topic.replacement": "${routedByValue}.events",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": false,
    "producer.override.bootstrap.servers": "kafka-1:9093",
    "producer.override.security.protocol": "SASL_SSL",
    "producer.override.sasl.mechanism": "SCRAM-SHA-512",
    "producer.override.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"relay\" password=\"hush kafka\";",
    "producer.override.compression.type": "lz4",
    "producer.override.linger.ms": "5"
  }
})";

constexpr std::string_view kResource = R"(apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: outbox
  labels:
    strimzi.io/cluster: connect
spec:
  class: io.debezium.connector.postgresql.PostgresConnector
  tasksMax: 1
  autoRestart: {enabled: true}
  config:
    plugin.name: pgoutput
    database.hostname: db.internal
    database.port: 5432
    database.user: debezium
    database.password: ${secrets:kafka/db-credentials:password}
    database.dbname: shop
    table.include.list: public.outbox,billing.outbox
    transforms: outbox
    transforms.outbox.type: io.debezium.transforms.outbox.EventRouter
    key.converter: org.apache.kafka.connect.storage.StringConverter
    value.converter: io.debezium.converters.BinaryDataConverter
    value.converter.delegate.converter.type: org.apache.kafka.connect.json.JsonConverter
    value.converter.delegate.converter.type.schemas.enable: false
)";

constexpr std::string_view kServer = R"(
debezium.sink.type=kafka
debezium.sink.kafka.producer.bootstrap.servers=localhost:9092
debezium.sink.kafka.producer.key.serializer=org.apache.kafka.common.serialization.StringSerializer
debezium.source.connector.class=io.debezium.connector.postgresql.PostgresConnector
debezium.source.offset.storage.file.filename=data/offsets.dat
debezium.source.database.hostname=localhost
debezium.source.database.user=postgres
debezium.source.database.password=${DB_PASSWORD}
debezium.source.database.dbname=shop
debezium.source.topic.prefix=tutorial
debezium.source.table.include.list=public.outbox
debezium.source.plugin.name=pgoutput
debezium.transforms=outbox
debezium.transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
debezium.transforms.outbox.route.topic.replacement=outbox.$${routedByValue}
debezium.format.key=simplestring
debezium.format.value.schemas.enable=false
debezium.format.header=json
debezium.format.header.class=org.apache.kafka.connect.storage.SimpleHeaderConverter
quarkus.log.console.json=false
)";

class DebeziumImportTest : public testing::ConfigFixture {
 protected:
  DebeziumImportTest() { Bare(); }

  DebeziumImport Import(std::string_view connector) {
    import_.connector = connector;
    auto import = ImportDebezium(import_);
    EXPECT_THAT(import, IsOk());
    return import.ok() ? *std::move(import) : DebeziumImport();
  }
  Config ConfigOf(std::string_view connector) {
    const DebeziumImport import = Import(connector);
    EXPECT_THAT(RefusalOf(import), IsOk());
    Config config;
    EXPECT_THAT(ApplyTranslation(import.translation, config), IsOk());
    return config;
  }
  // A valid connector plus `more`: lines of JSON.
  static std::string With(const std::string& more) {
    std::string text(kImported);
    text.insert(text.rfind("\"producer.override.linger.ms\""), more + ",\n");
    return text;
  }
  // The router among other transforms; `options`: their lines, each with a comma.
  static std::string WithTransforms(const std::string& list, const std::string& options) {
    std::string text(kImported);
    const std::string_view only = "\"transforms\": \"events\",";
    return text.replace(text.find(only), only.size(),
                        fmt::format("\"transforms\": \"{}\",{}", list, options));
  }
  static std::string Without(std::string_view property) {
    std::string text(kImported);
    const size_t at = text.find(property);
    text.erase(at, text.find('\n', at) - at);
    return text;
  }
  static const PropertyResult* ResultOf(const DebeziumImport& import, std::string_view property) {
    for (const ImportedProperty& each : import.properties) {
      if (each.name == property) {
        return &each.result;
      }
    }
    return nullptr;
  }
  void ExpectRefused(const std::string& name, const std::string& value, const std::string& reason) {
    const DebeziumImport import = Import(With("\"" + name + "\": \"" + value + "\""));
    const PropertyResult* result = ResultOf(import, name);
    ASSERT_NE(result, nullptr) << name;
    EXPECT_EQ(result->outcome, PropertyOutcome::kRefused) << name;
    EXPECT_THAT(result->note, HasSubstr(reason)) << name;
    EXPECT_THAT(RefusalOf(import), HasError(ErrorCode::kConnectorRefused, name));
  }
  PropertyOutcome BinOf(const std::string& name, const std::string& value) {
    const DebeziumImport import = Import(With("\"" + name + "\": \"" + value + "\""));
    const PropertyResult* result = ResultOf(import, name);
    EXPECT_NE(result, nullptr) << name;
    return result == nullptr ? PropertyOutcome::kRefused : result->outcome;
  }

  ImportInput import_;
};

// Where the file omits a property, Debezium's default applies, not walrelay's.
TEST_F(DebeziumImportTest, DefaultsAreThoseOfDebezium) {
  const Config config = ConfigOf(kResource);
  EXPECT_EQ(config.source.tables.front().columns.aggregate_type, "aggregatetype");
  EXPECT_EQ(config.route.compatibility, Compatibility::kDebezium);
  EXPECT_EQ(config.route.timestamp, TimestampSource::kNow);
  EXPECT_EQ(config.format.headers, HeaderFormat::kSimple);
  EXPECT_TRUE(config.format.context_headers);
}

TEST_F(DebeziumImportTest, KafkaConnectConnectorIsConverted) {
  const Config config = ConfigOf(kImported);
  EXPECT_EQ(config.source.dsn, "host=db.internal port=5432 dbname=shop user=debezium");
  EXPECT_EQ(config.source.password.Reveal(), "hush 'db'");
  EXPECT_EQ(config.source.slot, "outbox_slot");
  EXPECT_EQ(config.source.publication, "outbox_pub");
  EXPECT_TRUE(config.source.allow_insecure);  // sslmode=prefer, as before
  EXPECT_EQ(config.source.tables.front().name, "outbox");
  EXPECT_EQ(config.source.tables.front().placements.front().name, "eventType");
  EXPECT_EQ(config.route.topic, "${routedByValue}.events");
  EXPECT_EQ(config.format.key.format, Format::kString);
  EXPECT_EQ(config.format.value.format, Format::kJson);
  EXPECT_EQ(config.format.schema_prefix, "fulfillment");
  EXPECT_EQ(config.kafka.bootstrap_servers, "kafka-1:9093");
  EXPECT_EQ(config.kafka.sasl_username, "relay");
  EXPECT_EQ(config.kafka.sasl_password.Reveal(), "hush kafka");
  EXPECT_EQ(config.kafka.compression, "lz4");
  EXPECT_FALSE(config.kafka.allow_insecure);
}

TEST_F(DebeziumImportTest, ConnectorWithoutTheOuterObjectIsConverted) {
  const std::string wrapped(kImported);
  const size_t begin = wrapped.find('{', 1);
  const std::string flat = wrapped.substr(begin, wrapped.rfind('}') - begin);
  EXPECT_EQ(ConfigOf(flat).source.dsn, ConfigOf(kImported).source.dsn);
}

TEST_F(DebeziumImportTest, StrimziResourceIsConverted) {
  const DebeziumImport import = Import(kResource);
  EXPECT_THAT(RefusalOf(import), IsOk());
  Config config;
  ASSERT_THAT(ApplyTranslation(import.translation, config), IsOk());
  ASSERT_EQ(config.source.tables.size(), 2U);
  EXPECT_EQ(config.source.tables[1].schema, "billing");
  EXPECT_EQ(config.source.tables[1].columns.aggregate_id, "aggregateid");
  EXPECT_EQ(config.source.slot, "debezium");
  EXPECT_EQ(config.source.publication, "dbz_publication");
  EXPECT_EQ(config.format.value.delegate, Delegate::kJson);
  EXPECT_TRUE(config.source.password.empty());
  EXPECT_THAT(import.translation.required,
              ::testing::ElementsAre("source.password_file", "kafka.bootstrap_servers"));
  EXPECT_EQ(ResultOf(import, "spec.autoRestart")->outcome, PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumImportTest, ResourceMayBeJsonOrOneOfSeveralDocuments) {
  EXPECT_EQ(ConfigOf("apiVersion: v1\nkind: Secret\n---\n" + std::string(kResource)).source.dsn,
            ConfigOf(kResource).source.dsn);
  EXPECT_THAT(ImportDebezium({.connector = "apiVersion: v1\nkind: Secret\n"}),
              HasError(ErrorCode::kConnectorRefused, "no KafkaConnector"));
  const std::string twice = std::string(kResource) + "---\n" + std::string(kResource);
  EXPECT_THAT(ImportDebezium({.connector = twice}),
              HasError(ErrorCode::kConnectorRefused, "several outbox connectors: outbox, outbox"));
  EXPECT_EQ(ConfigOf(R"({"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "spec": {
      "class": "io.debezium.connector.postgresql.PostgresConnector", "tasksMax": 1, "config": {
      "plugin.name": "pgoutput", "table.include.list": "s.t", "transforms": "o",
      "transforms.o.type": "io.debezium.transforms.outbox.EventRouter",
      "key.converter": "StringConverter", "value.converter": "StringConverter"}}})")
                .source.tables.front()
                .schema,
            "s");
}

TEST_F(DebeziumImportTest, DebeziumServerPropertiesAreConverted) {
  const Config config = ConfigOf(kServer);
  EXPECT_EQ(config.source.dsn, "host=localhost dbname=shop user=postgres");
  EXPECT_FALSE(config.source.allow_insecure);
  EXPECT_EQ(config.route.topic, "outbox.${routedByValue}");
  EXPECT_EQ(config.format.key.format, Format::kString);
  EXPECT_EQ(config.format.value.format,
            Format::kJson);  // the default of Debezium Server, without schemas
  EXPECT_EQ(config.kafka.bootstrap_servers, "localhost:9092");
}

TEST_F(DebeziumImportTest, JsonHeadersOfDebeziumServerAreRefused) {
  std::string text(kServer);
  text.erase(text.find("debezium.format.header="),
             text.find("quarkus") - text.find("debezium.format.header="));
  EXPECT_THAT(RefusalOf(Import(text)),
              HasError(ErrorCode::kConnectorRefused, "debezium.format.header"));
}

TEST_F(DebeziumImportTest, EveryPropertyHasOneResultAndIsListed) {
  for (const std::string_view text : {kImported, kResource, kServer}) {
    const DebeziumImport import = Import(text);
    const std::string report = ImportReport(import);
    for (const ImportedProperty& property : import.properties) {
      EXPECT_THAT(report, HasSubstr(property.name));
      EXPECT_FALSE(property.result.outcome == PropertyOutcome::kMeaningless &&
                   property.result.note.empty())
          << property.name;
    }
    EXPECT_EQ(
        import.Count(PropertyOutcome::kTranslated) + import.Count(PropertyOutcome::kEquivalent) +
            import.Count(PropertyOutcome::kMeaningless) + import.Count(PropertyOutcome::kRefused),
        import.properties.size());
  }
  EXPECT_EQ(Import(kImported).properties.size(), 29U);
  EXPECT_EQ(ResultOf(Import(kServer), "debezium.format.header")->outcome,
            PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumImportTest, SecretsAreNeverReportedAndWrittenOnlyOnRequest) {
  const std::string text = With(R"("producer.override.ssl.key.password": "hush key",
    "producer.override.ssl.keystore.key": "hush pem", "made.up.password": "hush unknown")");
  const DebeziumImport import = Import(text);
  EXPECT_THAT(ImportReport(import), Not(HasSubstr("hush")));
  EXPECT_THAT(std::string(RefusalOf(import).message()), Not(HasSubstr("hush")));
  EXPECT_THAT(ImportedToml(import, false), Not(HasSubstr("hush")));
  const std::string whole = ImportedToml(import, true);
  for (const char* secret : {"hush 'db'", "hush kafka", "hush key", "hush pem"}) {
    EXPECT_THAT(whole, HasSubstr(secret));
  }
}

TEST_F(DebeziumImportTest, WrittenTomlLoadsAsTheSameConfiguration) {
  for (const std::string_view text : {kImported, kResource, kServer}) {
    const DebeziumImport import = Import(text);
    input_.overrides = {{"kafka.bootstrap_servers", "k:9092"}};
    const Config read = Load(ImportedToml(import, /*with_secrets=*/true));
    Config direct;
    ASSERT_THAT(ApplyTranslation(import.translation, direct), IsOk());
    direct.kafka.bootstrap_servers = "k:9092";
    for (const Option& option : Options()) {
      EXPECT_EQ(option.show(read), option.show(direct)) << option.Name();
    }
    ASSERT_EQ(read.source.tables.size(), direct.source.tables.size());
    for (size_t i = 0; i < read.source.tables.size(); ++i) {
      EXPECT_EQ(read.source.tables[i].schema, direct.source.tables[i].schema);
      EXPECT_EQ(read.source.tables[i].placements.size(), direct.source.tables[i].placements.size());
    }
    EXPECT_EQ(read.kafka.librdkafka, direct.kafka.librdkafka);
    EXPECT_EQ(read.source.password.Reveal(), direct.source.password.Reveal());
    EXPECT_EQ(read.kafka.sasl_password.Reveal(), direct.kafka.sasl_password.Reveal());
  }
}

TEST_F(DebeziumImportTest, WorkerSuppliesPropertiesThatTheConnectorOmits) {
  import_.worker =
      "bootstrap.servers=k:9092\ngroup.id=connect\n"
      "key.converter=org.apache.kafka.connect.json.JsonConverter\n"
      "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
      "value.converter.schemas.enable=true\nproducer.compression.type=zstd\n";
  std::string text = Without("\"value.converter\":");
  text.erase(text.find("\"value.converter.schemas"),
             text.find("\"producer") - text.find("\"value.converter.schemas"));
  const DebeziumImport import = Import(text);
  EXPECT_THAT(RefusalOf(import), IsOk());
  EXPECT_THAT(import.translation.settings, ::testing::Contains(Pair("format.key", "string")));
  EXPECT_THAT(import.translation.settings,
              ::testing::Contains(Pair("format.value", "json_schema")));
  EXPECT_THAT(import.translation.settings,
              ::testing::Contains(Pair("kafka.bootstrap_servers", "kafka-1:9093")));
  EXPECT_EQ(ResultOf(import, "worker: group.id")->outcome, PropertyOutcome::kMeaningless);
  EXPECT_EQ(ResultOf(import, "worker: producer.compression.type")->note,
            "overridden by the connector");
}

TEST_F(DebeziumImportTest, TopicCreationBecomesRules) {
  const std::string text = With(R"("topic.creation.groups": "orders",
    "topic.creation.default.partitions": 3, "topic.creation.default.replication.factor": 3,
    "topic.creation.orders.include": "order\\.events", "topic.creation.orders.cleanup.policy": "compact")");
  const TopicsConfig topics = ConfigOf(text).kafka.topics;
  EXPECT_EQ(topics.create, CreateTopics::kCreate);
  ASSERT_EQ(topics.rules.size(), 2u);
  EXPECT_EQ(topics.rules[0].match, "order.events");
  EXPECT_THAT(topics.rules[0].config, ::testing::ElementsAre(Pair("cleanup.policy", "compact")));
  const std::string toml = ImportedToml(Import(text), true);
  const TopicsConfig read = Load(toml).kafka.topics;
  EXPECT_EQ(read.create, CreateTopics::kCreate);
  EXPECT_EQ(read.rules.size(), 2u);
  import_.worker = "topic.creation.enable=false\n";
  EXPECT_EQ(ConfigOf(text).kafka.topics.create, CreateTopics::kNever);
  EXPECT_EQ(ResultOf(Import(text), "topic.creation.orders.include")->outcome,
            PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumImportTest, ExactlyOnceIsTheOperatorsDecision) {
  import_.worker = "exactly.once.source.support=disabled\n";
  EXPECT_THAT(RefusalOf(Import(With("\"exactly.once.support\": \"requested\""))), IsOk());
  import_.worker = "exactly.once.source.support=enabled\n";
  const DebeziumImport import = Import(kImported);
  EXPECT_THAT(RefusalOf(import), HasError(ErrorCode::kConnectorRefused));
  const PropertyResult* const result = ResultOf(import, "worker: exactly.once.source.support");
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->setting, "pipeline.mode");
  import_.overrides = {"pipeline.mode"};
  EXPECT_THAT(RefusalOf(Import(With("\"exactly.once.support\": \"required\""))), IsOk());
}

TEST_F(DebeziumImportTest, PropertiesThatAffectRecordsAreRequired) {
  for (const auto& [property, setting] :
       {std::pair("\"key.converter\"", "format.key"), std::pair("\"plugin.name\"", "source.slot"),
        std::pair("\"table.include.list\"", "source.table")}) {
    const std::string text = Without(property);
    import_.overrides.clear();
    EXPECT_THAT(RefusalOf(Import(text)), HasError(ErrorCode::kConnectorRefused, "not set"))
        << property;
    import_.overrides = {setting};
    EXPECT_THAT(RefusalOf(Import(text)), IsOk()) << property;
  }
}

TEST_F(DebeziumImportTest, SaltIsASecret) {
  const std::string name = "column.mask.hash.v2.SHA-256.with.salt.pepper";
  const DebeziumImport import = Import(With("\"" + name + "\": \".*payload\""));
  EXPECT_THAT(ImportReport(import), Not(HasSubstr("pepper")));
  EXPECT_NE(ResultOf(import, "column.mask.hash.v2.SHA-256.with.salt.***"), nullptr);
  EXPECT_THAT(ImportedToml(import, false), Not(HasSubstr("pepper")));
  const Config config = Load(ImportedToml(import, /*with_secrets=*/true));
  ASSERT_EQ(config.source.tables[0].transforms.size(), 1u);
  EXPECT_EQ(config.source.tables[0].transforms[0],
            (ColumnTransform{.column = "payload",
                             .kind = ColumnTransform::Kind::kHash,
                             .algorithm = HashAlgorithm::kSha256,
                             .salt = Secret("pepper")}));
  EXPECT_EQ(ConfigOf(With("\"" + name + "\": \".*payload\"")).source.tables, config.source.tables);
}

TEST_F(DebeziumImportTest, UnsupportedBehaviourIsRefused) {
  ExpectRefused("column.mask.with.x.chars", ".*payload", "expected a length");
  ExpectRefused("transforms.events.predicate", "isOutbox", "cannot determine");
  ExpectRefused("converters", "geo", "Java code");
  ExpectRefused("exactly.once.support", "required", "at least once");
  ExpectRefused("event.processing.failure.handling.mode", "skip", "lost silently");
  ExpectRefused("errors.tolerance", "all", "lost silently");
  ExpectRefused("skipped.operations", "c,t", "no event is published");
  ExpectRefused("slot.stream.params", "origin=none", "options");
  ExpectRefused("value.converter.decimal.format", "NUMERIC", "base64");
  ExpectRefused("header.converter", "org.apache.kafka.connect.json.JsonConverter", "SimpleHeader");
  ExpectRefused("transforms.events.route.topic.replacment", "x", "unknown to walrelay");
  ExpectRefused("made.up", "x", "unknown to walrelay; remove it");
  ExpectRefused("database.sslpassword", "hush", "without a password");
}

TEST_F(DebeziumImportTest, UnsupportedProducerPropertiesAreRefused) {
  ExpectRefused("producer.override.interceptor.classes", "org.x.Y", "Java code");
  ExpectRefused("producer.override.partitioner.class",
                "org.apache.kafka.clients.producer.RoundRobinPartitioner",
                "key decides the partition");
  ExpectRefused("producer.override.ssl.truststore.location", "/etc/trust.jks", "keytool");
  ExpectRefused("producer.override.ssl.keystore.location", "/etc/key.jks", "keytool");
  ExpectRefused("producer.override.made.up", "x", "unknown to walrelay");
}

TEST_F(DebeziumImportTest, LoginsOfJavaLibrariesAreRecognized) {
  const auto login = [&](const std::string& module) {
    std::string text(kImported);
    const std::string_view scram =
        R"(org.apache.kafka.common.security.scram.ScramLoginModule required username=\"relay\" password=\"hush kafka\";)";
    text.replace(text.find(scram), scram.size(), module);
    return *ResultOf(Import(text), "producer.override.sasl.jaas.config");
  };
  EXPECT_EQ(login("software.amazon.msk.auth.iam.IAMLoginModule required;").setting, "kafka.aws");
  EXPECT_EQ(login("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;")
                .setting,
            "kafka.oauth");
  EXPECT_EQ(BinOf("producer.override.sasl.client.callback.handler.class",
                  "software.amazon.msk.auth.iam.IAMClientCallbackHandler"),
            PropertyOutcome::kEquivalent);
}

TEST_F(DebeziumImportTest, UnsupportedTransformIsRefusedInOneLine) {
  const std::string text = WithTransforms("unwrap, events", R"(
      "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
      "transforms.unwrap.drop.tombstones": "true", "transforms.unused.type": "org.x.Other",)");
  const DebeziumImport import = Import(text);
  EXPECT_EQ(import.Count(PropertyOutcome::kRefused), 1U);
  EXPECT_THAT(RefusalOf(import), HasError(ErrorCode::kConnectorRefused,
                                          "unwrap (io.debezium.transforms.ExtractNewRecordState)"));
  EXPECT_THAT(ResultOf(import, "transforms.unused.type")->note, HasSubstr("no transform"));
}

TEST_F(DebeziumImportTest, TransformWithoutATypeIsRefused) {
  EXPECT_THAT(RefusalOf(Import(WithTransforms("unwrap, events", ""))),
              HasError(ErrorCode::kConnectorRefused, "\"unwrap\" has no type"));
}

TEST_F(DebeziumImportTest, UnsupportedConverterIsRefusedInOneLine) {
  std::string text = With(R"("value.converter.schema.registry.url": "http://registry")");
  text.replace(text.find("org.apache.kafka.connect.json.JsonConverter"), 43,
               "io.confluent.connect.avro.AvroConverter");
  const DebeziumImport import = Import(text);
  EXPECT_EQ(import.Count(PropertyOutcome::kRefused), 1U);
  EXPECT_THAT(RefusalOf(import), HasError(ErrorCode::kConnectorRefused, "AvroConverter"));
}

TEST_F(DebeziumImportTest, OtherConnectorsAreRefused) {
  for (const auto& [name, reason] :
       {std::pair("PostgresConnector", "EventRouter"),
        std::pair("io.debezium.connector.mysql.MySqlConnector", "not a Postgres connector"),
        std::pair("PostgresCdcSourceV2", "Confluent's managed connector")}) {
    const std::string text = fmt::format(
        R"({{"connector.class": "{}", "transforms": "a", "transforms.a.type": "b"}})", name);
    EXPECT_THAT(ImportDebezium({.connector = text}),
                HasError(ErrorCode::kConnectorRefused, reason));
  }
  EXPECT_THAT(ImportDebezium({.connector = R"({"config": {"x": ["y"]}})"}),
              HasError(ErrorCode::kConnectorRefused, "\"x\": expected a scalar value"));
  EXPECT_THAT(ImportDebezium({.connector = "[source]\ndsn = \"x\"\n"}),
              HasError(ErrorCode::kConnectorRefused, "not the configuration"));
}

TEST_F(DebeziumImportTest, EquivalentAndMeaninglessPropertiesAreClassified) {
  EXPECT_EQ(BinOf("skipped.operations", "u,d,t"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("decimal.handling.mode", "PRECISE"), PropertyOutcome::kTranslated);
  EXPECT_EQ(BinOf("schema.name.adjustment.mode", "none"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("errors.tolerance", "none"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("signal.data.collection", "public.signals"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("topic.creation.default.partitions", "6"), PropertyOutcome::kTranslated);
  EXPECT_EQ(BinOf("producer.override.acks", "1"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("slot.failover", "true"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("custom.sanitize.pattern", "(?i).*token"), PropertyOutcome::kMeaningless);
  for (const char* name : {"memory.management.schemas.class", "memory.management.tables.class",
                           "memory.management.cache.size"}) {
    EXPECT_EQ(BinOf(name, "io.debezium.relational.ConcurrentMapTableMappingStorage"),
              PropertyOutcome::kMeaningless);
  }
  EXPECT_EQ(BinOf("sourceinfo.struct.maker",
                  "io.debezium.connector.postgresql.PostgresSourceInfoStructMaker"),
            PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("sourceinfo.struct.maker", "com.example.Maker"), PropertyOutcome::kRefused);
  EXPECT_EQ(BinOf("database.include.list", ""), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("database.exclude.list", ""), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("database.include.list", "shop"), PropertyOutcome::kRefused);
  EXPECT_EQ(BinOf("database.exclude.list", "other"), PropertyOutcome::kRefused);
  EXPECT_EQ(BinOf("time.precision.mode", "structured"), PropertyOutcome::kTranslated);
  EXPECT_EQ(BinOf("column.mask.with.8.chars", "public.customers.email"),
            PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("database.sslfactory", "org.postgresql.ssl.NonValidatingFactory"),
            PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("transforms.events.table.field.timestamp", "x"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("transforms.events.table.field.payload", "payload"),
            PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("transforms.events.table.field.payload", "body"), PropertyOutcome::kRefused);
}

// "a setting without effect on the published columns is never a refusal"
TEST_F(DebeziumImportTest, SettingsWithoutEffectOnRecordsAreAccepted) {
  EXPECT_EQ(BinOf("schema.name.adjustment.mode", "avro"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("column.propagate.source.type", "public.x.y"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("field.name.adjustment.mode", "avro"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("field.name.adjustment.mode", "avro_unicode"), PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("transforms.events.field.name.adjustment.mode", "avro"),
            PropertyOutcome::kEquivalent);
  EXPECT_EQ(BinOf("provide.transaction.metadata", "true"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("openlineage.integration.enabled", "true"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("key.converter.decimal.format", "NUMERIC"), PropertyOutcome::kMeaningless);
  EXPECT_EQ(BinOf("predicates", "unused"), PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumImportTest, TheSameSettingsAreRefusedWhereTheyHaveAnEffect) {
  std::string text = With(R"("schema.name.adjustment.mode": "avro")");
  text.replace(text.find("\"value.converter.schemas.enable\": false"), 39,
               "\"value.converter.schemas.enable\": true");
  EXPECT_THAT(RefusalOf(Import(text)),
              HasError(ErrorCode::kConnectorRefused, "schema.name.adjustment.mode"));
  EXPECT_THAT(RefusalOf(Import(With(R"("field.name.adjustment.mode": "avro",
                  "transforms.events.table.field.event.key": "aggregate-id")"))),
              HasError(ErrorCode::kConnectorRefused, "field.name.adjustment.mode"));
  EXPECT_THAT(RefusalOf(Import(With(R"("field.name.adjustment.mode": "avro_unicode",
                  "transforms.events.table.field.event.key": "aggregate_id")"))),
              HasError(ErrorCode::kConnectorRefused, "field.name.adjustment.mode"));
  EXPECT_THAT(RefusalOf(Import(With(R"("transforms.events.field.name.adjustment.mode": "avro",
                  "transforms.events.table.expand.json.payload": "true")"))),
              HasError(ErrorCode::kConnectorRefused, "field.name.adjustment.mode"));
}

TEST_F(DebeziumImportTest, SnapshotModesAreReported) {
  std::string text(kImported);
  const size_t at = text.find("no_data");
  EXPECT_THAT(ResultOf(Import(text), "snapshot.mode")->note, Not(HasSubstr("older than the slot")));
  text.replace(at, 7, "initial");
  EXPECT_THAT(ResultOf(Import(text), "snapshot.mode")->note, HasSubstr("older than the slot"));
  text.replace(at, 7, "initial_only");
  EXPECT_EQ(ResultOf(Import(text), "snapshot.mode")->outcome, PropertyOutcome::kRefused);
}

TEST_F(DebeziumImportTest, TablePatternIsRefusedUnlessTheTableIsConfigured) {
  std::string text(kImported);
  text.replace(text.find("public\\\\.outbox"), 15, "public\\\\.outbox_.*");
  EXPECT_THAT(RefusalOf(Import(text)),
              HasError(ErrorCode::kConnectorRefused, "not the name of a single table"));
  import_.overrides = {"source.table"};
  EXPECT_THAT(RefusalOf(Import(text)), IsOk());
}

TEST_F(DebeziumImportTest, DecodedMessagesAreConverted) {
  std::string text(kImported);
  text.replace(text.find("\"transforms\": \"events\""), 22,
               R"("transforms": "decode, events",
    "transforms.decode.type": "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
    "transforms.decode.fields.null.include": "true")");
  EXPECT_THAT(RefusalOf(Import(text)),
              HasError(ErrorCode::kConnectorRefused, "message.prefix.include.list"));
  text.insert(text.find("\"tombstones"),
              R"("message.prefix.include.list": "outbox,my\\.events", )");
  const Config config = ConfigOf(text);
  EXPECT_THAT(config.source.message_prefixes, ::testing::ElementsAre("outbox", "my.events"));
  EXPECT_EQ(config.format.message_nulls, NullMembers::kOptionalBytes);
  EXPECT_EQ(config.source.tables.front().name, "outbox");
}

TEST_F(DebeziumImportTest, MessagesWithoutATableAreConverted) {
  std::string text = Without("\"table.include.list\"");
  text.replace(text.find("\"transforms\": \"events\""), 22,
               R"("transforms": "decode,events", "publication.autocreate.mode": "no_tables",
    "transforms.decode.type": "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
    "message.prefix.include.list": "outbox")");
  const Config config = ConfigOf(text);
  EXPECT_EQ(config.source.tables.front().name, "");
  EXPECT_EQ(config.format.message_nulls, NullMembers::kIgnore);
}

TEST_F(DebeziumImportTest, TlsPropertiesAreConverted) {
  const Config config = ConfigOf(With(R"("database.sslmode": "verify-full",
    "database.sslrootcert": "/etc/my ca.pem",
    "producer.override.ssl.truststore.type": "PEM",
    "producer.override.ssl.truststore.location": "/etc/kafka/ca.pem",
    "producer.override.ssl.keystore.type": "PKCS12",
    "producer.override.ssl.keystore.location": "/etc/kafka/key.p12",
    "producer.override.ssl.keystore.password": "hush store")"));
  EXPECT_THAT(config.source.dsn, HasSubstr("sslmode=verify-full sslrootcert='/etc/my ca.pem'"));
  EXPECT_FALSE(config.source.allow_insecure);
  EXPECT_EQ(config.kafka.ssl_ca_file, "/etc/kafka/ca.pem");
  EXPECT_THAT(config.kafka.librdkafka,
              ::testing::Contains(Pair("ssl.keystore.location", "/etc/kafka/key.p12")));
  EXPECT_THAT(config.kafka.librdkafka,
              ::testing::Contains(Pair("ssl.keystore.password", "hush store")));
}

TEST_F(DebeziumImportTest, HostFromAConfigProviderIsRefused) {
  std::string text(kImported);
  text.replace(text.find("db.internal"), 11, "${env:PGHOST}");
  const DebeziumImport import = Import(text);
  EXPECT_THAT(RefusalOf(import), HasError(ErrorCode::kConnectorRefused, "database.hostname"));
  EXPECT_THAT(import.translation.settings.at("source.dsn"), Not(HasSubstr("${")));
  import_.overrides = {"source.dsn"};
  EXPECT_THAT(RefusalOf(Import(text)), IsOk());
}

}  // namespace
}  // namespace walrelay

#include "debezium/debezium_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/loader.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;

class DebeziumOptionsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Config> TryTranslate() {
    WR_ASSIGN_OR_RETURN(const DebeziumTranslation translation,
                        TranslateDebezium(router_, connector_));
    Config config;
    WR_RETURN_IF_ERROR(ApplyTranslation(translation, config));
    return config;
  }
  Config Translate() {
    const auto config = TryTranslate();
    EXPECT_THAT(config, IsOk());
    return config.ok() ? *config : Config();
  }
  void ExpectRefused(const std::string& option, const std::string& value) {
    router_ = {{option, value}};
    EXPECT_THAT(TryTranslate(), HasError(ErrorCode::kConfigValue, option)) << value;
  }

  DebeziumOptions router_;
  DebeziumOptions connector_;
};

TEST_F(DebeziumOptionsTest, DefaultsAreThoseOfDebezium) {
  const Config config = Translate();
  const ColumnMapping& columns = config.source.tables.front().columns;
  EXPECT_EQ(columns.aggregate_type, "aggregatetype");
  EXPECT_EQ(columns.aggregate_id, "aggregateid");
  EXPECT_EQ(columns.event_type, "");
  EXPECT_EQ(config.route.compatibility, Compatibility::kDebezium);
  EXPECT_EQ(config.route.timestamp, TimestampSource::kNow);
  EXPECT_EQ(config.format.headers, HeaderFormat::kSimple);
  EXPECT_TRUE(config.format.context_headers);
}

TEST_F(DebeziumOptionsTest, EveryOptionIsTranslated) {
  router_ = {{"table.op.invalid.behavior", "FATAL"},
             {"table.field.event.id", "event_id"},
             {"table.field.event.key", "k"},
             {"table.field.event.type", "ignored"},
             {"table.field.event.payload", "body"},
             {"table.field.event.timestamp", "at"},
             {"table.field.event.schema.version", "v"},
             {"table.field.additional.missing", "ignore"},
             {"route.by.field", "kind"},
             {"route.topic.regex", "(.*)"},
             {"route.topic.replacement", "t.$1"},
             {"route.tombstone.on.empty.payload", " TRUE "},
             {"table.expand.json.payload", "true"},
             {"table.json.payload.null.behavior", "optional_bytes"},
             {"table.json.payload.empty.array.behavior", "optional_string"}};
  connector_ = {{"topic.prefix", "srv"}, {"extended.headers.enabled", "false"}};
  const Config config = Translate();
  const ColumnMapping& columns = config.source.tables.front().columns;
  EXPECT_EQ(config.source.on_update, OnUpdate::kFail);
  EXPECT_EQ(config.source.missing_columns, MissingColumns::kIgnore);
  EXPECT_EQ(columns.id, "event_id");
  EXPECT_EQ(columns.aggregate_id, "k");
  EXPECT_EQ(columns.aggregate_type, "kind");
  EXPECT_EQ(columns.payload, "body");
  EXPECT_EQ(columns.version, "v");
  EXPECT_EQ(config.route.timestamp_column, "at");
  EXPECT_EQ(config.route.regex, "(.*)");
  EXPECT_EQ(config.route.topic, "t.$1");
  EXPECT_TRUE(config.route.tombstone_on_empty);
  EXPECT_TRUE(config.format.expand_json);
  EXPECT_EQ(config.format.json_nulls, NullMembers::kOptionalBytes);
  EXPECT_EQ(config.format.json_empty_arrays, EmptyArrays::kOptionalString);
  EXPECT_EQ(config.format.schema_prefix, "srv");
  EXPECT_FALSE(config.format.context_headers);
}

TEST_F(DebeziumOptionsTest, PlacementsKeepOrderAndDuplicates) {
  router_ = {{"table.fields.additional.placement",
              "type:header, a : Envelope : x ,p:partition:zzz,type:header:,"}};
  const auto placements = Translate().source.tables.front().placements;
  std::vector<std::string> told;
  for (const Placement& placement : placements) {
    told.push_back(placement.column.preferred() + "/" +
                   std::to_string(static_cast<int>(placement.where)) + "/" + placement.name);
  }
  EXPECT_THAT(told, ElementsAre("type/0/type", "a/1/x", "p/2/zzz", "type/0/type"));
}

TEST_F(DebeziumOptionsTest, ConverterWithoutAFormatIsRefused) {
  connector_ = {{"value.converter", "io.confluent.connect.avro.AvroConverter"}};
  EXPECT_THAT(TryTranslate(), HasError(ErrorCode::kConfigValue, "AvroConverter"));
}

TEST_F(DebeziumOptionsTest, ValuesThatDebeziumRefusesAreRefused) {
  ExpectRefused("table.op.invalid.behavior", "invalidOption");
  ExpectRefused("route.tombstone.on.empty.payload", "yes");
  ExpectRefused("table.field.additional.missing", "bogus");
  for (const char* placement : {"", "type", ",type:header", "a:header:b:c", "type:heder"}) {
    ExpectRefused("table.fields.additional.placement", placement);
  }
}

TEST_F(DebeziumOptionsTest, TypeModesAreSettings) {
  router_.clear();
  connector_ = {{"decimal.handling.mode", "String"},
                {"time.precision.mode", "isostring"},
                {"binary.handling.mode", "base64-url-safe"},
                {"interval.handling.mode", "string"},
                {"hstore.handling.mode", "map"},
                {"include.unknown.datatypes", "true"}};
  Config config;
  const auto translation = TranslateDebezium(router_, connector_);
  ASSERT_THAT(translation, IsOk());
  ASSERT_THAT(ApplyTranslation(*translation, config), IsOk());
  EXPECT_EQ(config.format.types.decimal, DecimalMode::kString);
  EXPECT_EQ(config.format.types.time, TimeMode::kIsoString);
  EXPECT_EQ(config.format.types.binary, BinaryMode::kBase64UrlSafe);
  EXPECT_EQ(config.format.types.interval, IntervalMode::kString);
  EXPECT_EQ(config.format.types.hstore, HstoreMode::kMap);
  EXPECT_EQ(config.format.types.unknown, UnknownTypes::kBytes);
}

TEST_F(DebeziumOptionsTest, OptionsThatWouldBeIgnoredSilentlyAreRefused) {
  ExpectRefused("field.name.adjustment.mode", "avro");
  ExpectRefused("predicate", "isOutbox");
  router_.clear();
  for (const auto& [option, value] : DebeziumOptions{{"errors.tolerance", "all"},
                                                     {"skipped.operations", "none"},
                                                     {"time.precision.mode", "seconds"},
                                                     {"decimal.handling.mode", "exact"}}) {
    connector_ = {{option, value}};
    EXPECT_THAT(TryTranslate(), HasError(ErrorCode::kConfigValue, option));
  }
}

}  // namespace
}  // namespace walrelay

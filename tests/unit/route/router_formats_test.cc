// Rows in the formats of Debezium and Connect's converters. column_datum_test tests the conversion
// of each type; tests/conformance compares with Debezium's own records.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/pgoutput_writer.h"
#include "fakes/sample_rows.h"
#include "fakes/status_matchers.h"
#include "pgoutput/decoder.h"
#include "pgoutput/type_oids.h"
#include "route/router.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using testing::ColumnSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TextRow;

using testing::kCommitTime;
using testing::kOutbox;

class RouterFormatsTest : public ::testing::Test {
 protected:
  RouterFormatsTest() {
    route_.compatibility = Compatibility::kDebezium;
    route_.timestamp = TimestampSource::kNow;
    source_.tables.front().columns.event_type = "";
    format_.headers = HeaderFormat::kSimple;
    format_.key.format = Format::kString;
    format_.value.format = Format::kJson;
    format_.schema_prefix = "srv";
  }

  // Describes a table with the columns of Debezium's outbox, followed by `more`.
  void Describe(std::vector<ColumnSpec> more = {}, uint32_t payload_type = pgoutput::kJsonbOid) {
    columns_ = {{"id", pgoutput::kUuidOid},
                {"aggregatetype", pgoutput::kVarcharOid},
                {"aggregateid", pgoutput::kVarcharOid},
                {"payload", payload_type}};
    columns_.insert(columns_.end(), more.begin(), more.end());
  }
  void Place(const std::string& column, Placement::Where where) {
    source_.tables.front().placements.push_back({.column = column, .where = where, .name = column});
  }
  // A row with this payload, followed by further values.
  absl::StatusOr<Record> Route(std::optional<std::string> payload,
                               const std::vector<std::optional<std::string>>& more = {}) {
    std::vector<std::optional<std::string>> row = {"10711fa5-0000-0000-0000-000000000001", type_,
                                                   key_, std::move(payload)};
    row.insert(row.end(), more.begin(), more.end());
    Prepare();
    bytes_ = testing::InsertMessage(kOutbox, TextRow(row));
    return router_->Route(kOutbox, std::get<pgoutput::Insert>(*decoder_.Decode(bytes_)).row,
                          kCommitTime);
  }
  Record Routed(std::optional<std::string> payload,
                const std::vector<std::optional<std::string>>& more = {}) {
    const auto record = Route(std::move(payload), more);
    EXPECT_THAT(record, IsOk());
    return record.ok() ? *record : Record();
  }
  std::string Value(std::optional<std::string> payload,
                    const std::vector<std::optional<std::string>>& more = {}) {
    return std::string(Routed(std::move(payload), more).value.value_or("NULL"));
  }

  SourceConfig source_;
  RouteConfig route_;
  FormatConfig format_;
  TableInfo info_{.schema = "public", .name = "outbox", .oid = kOutbox};
  std::string type_ = "User";
  std::optional<std::string> key_ = "k";

 private:
  // Created at first use, with the current configuration.
  void Prepare() {
    if (columns_.empty()) {
      Describe();
    }
    if (!router_) {
      router_.emplace(*Router::Create(source_, route_, format_, "run-1"));
      router_->StartSession({&info_, 1});
      bytes_ = testing::RelationMessage(kOutbox, "public", "outbox", columns_);
      router_->OnRelation(
          relations_.Replace(std::get<pgoutput::Relation>(*decoder_.Decode(bytes_))));
    }
  }

  std::vector<ColumnSpec> columns_;
  std::optional<Router> router_;
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  std::string bytes_;
};

TEST_F(RouterFormatsTest, JsonQuotesATextPayload) {
  EXPECT_EQ(Value("{\"a\": 1}"), R"("{\"a\": 1}")");
  EXPECT_EQ(Value("\U0001D11E\x01\u00e9"), "\"\\uD834\\uDD1E\\u0001\u00e9\"");
}

TEST_F(RouterFormatsTest, SchemaPrecedesThePayload) {
  format_.value.format = Format::kJsonSchema;
  EXPECT_EQ(Value("{}"), R"({"schema":{"type":"string","optional":true,)"
                         R"("name":"io.debezium.data.Json","version":1},"payload":"{}"})");
}

TEST_F(RouterFormatsTest, TransformsApplyToEveryPart) {
  source_.tables.front().transforms = {
      {.column = "id", .length = 8},
      {.column = "aggregatetype", .length = 3},
      {.column = "aggregateid", .kind = ColumnTransform::Kind::kMask, .length = 2},
      {.column = "payload", .length = 4},
      {.column = "mail",
       .kind = ColumnTransform::Kind::kHash,
       .algorithm = HashAlgorithm::kSha256,
       .salt = Secret("salt")}};
  Describe({{"mail", pgoutput::kTextOid}});
  Place("mail", Placement::Where::kHeader);
  type_ = "ab\U0001D11E";
  key_ = std::nullopt;
  EXPECT_THAT(Route("123", {"plain"}), HasError(ErrorCode::kTopicInvalid));  // "ab?"
  type_ = "abcd";
  const Record record = Routed("123\U0001D11E", {"plain"});
  EXPECT_EQ(record.topic, "outbox.event.abc");
  EXPECT_EQ(record.key, "**");
  EXPECT_EQ(record.value, R"("123\uD834")");
  ASSERT_EQ(record.headers.size(), 2u);
  EXPECT_EQ(record.headers[0].value, "10711fa5");
  EXPECT_EQ(record.headers[1].value,
            "965b73b43692abc0cbf8201cd29aa571e04d7606b9f6584c042277b22a19f9a1");
}

TEST_F(RouterFormatsTest, TransformIsAParameterOfTheSchema) {
  format_.key.format = Format::kJsonSchema;
  format_.value.format = Format::kJsonSchema;
  source_.tables.front().transforms = {
      {.column = "aggregateid", .kind = ColumnTransform::Kind::kMask, .length = 1},
      {.column = "payload", .length = 4}};
  const Record record = Routed("{}");
  EXPECT_EQ(record.key, R"({"schema":{"type":"string","optional":true,)"
                        R"("parameters":{"masked":"true"}},"payload":"*"})");
  EXPECT_EQ(record.value, R"({"schema":{"type":"string","optional":true,)"
                          R"("name":"io.debezium.data.Json","version":1,)"
                          R"("parameters":{"truncateLength":"4"}},"payload":"{}"})");
}

TEST_F(RouterFormatsTest, BytesFormatAcceptsBytea) {
  format_.value.format = Format::kBytes;
  Describe({}, pgoutput::kByteaOid);
  EXPECT_EQ(Value("\\x6162"), "ab");
}

TEST_F(RouterFormatsTest, BytesFormatWithoutADelegateRejectsText) {
  format_.value.format = Format::kBytes;
  EXPECT_THAT(Route("{}"), HasError(ErrorCode::kValueInvalid, "bytea"));
}

TEST_F(RouterFormatsTest, DelegateEncodesText) {
  format_.value = {Format::kBytes, Delegate::kJson};
  EXPECT_EQ(Value("{}"), "\"{}\"");
}

TEST_F(RouterFormatsTest, StringFormatRejectsBytes) {
  format_.value.format = Format::kString;
  Describe({}, pgoutput::kByteaOid);
  EXPECT_THAT(Route("\\x6162"), HasError(ErrorCode::kValueInvalid));
}

TEST_F(RouterFormatsTest, NullIsEncodedByTheFormat) {
  EXPECT_EQ(Value(std::nullopt), "null");
}

TEST_F(RouterFormatsTest, NullIsReplacedByTheDefaultOfItsColumn) {
  info_.columns = {{.name = "payload", .default_expression = "'{}'::jsonb"},
                   {.name = "aggregateid", .default_expression = "'dflt'::character varying"}};
  key_.reset();
  route_.tombstone_on_empty = true;
  const Record record = Routed(std::nullopt);
  EXPECT_EQ(record.value, "\"{}\"");
  EXPECT_EQ(record.key, "dflt");
}

TEST_F(RouterFormatsTest, EmptyAndBlankPayloadsAreTombstonesIfConfigured) {
  route_.tombstone_on_empty = true;
  Describe({}, pgoutput::kTextOid);
  EXPECT_EQ(Routed("").value, std::nullopt);
  EXPECT_EQ(Routed(" \t\n").value, std::nullopt);
  EXPECT_EQ(Routed(std::nullopt).value, std::nullopt);
  EXPECT_EQ(Value("\u00a0"), "\"\u00a0\"");
}

TEST_F(RouterFormatsTest, EmptyBytesAreNoTombstoneInRawFormat) {
  route_.tombstone_on_empty = true;
  format_.value.format = Format::kRaw;
  Describe({}, pgoutput::kByteaOid);
  EXPECT_EQ(Value("\\x"), "");
}

TEST_F(RouterFormatsTest, NullKeyIsPublishedOnlyInDebeziumMode) {
  key_.reset();
  EXPECT_EQ(Routed("{}").key, std::nullopt);
}

TEST_F(RouterFormatsTest, NullKeyIsRejectedInWalrelayMode) {
  route_.compatibility = Compatibility::kWalrelay;
  key_.reset();
  EXPECT_THAT(Route("{}"), HasError(ErrorCode::kKeyMissing));
}

TEST_F(RouterFormatsTest, EnvelopeHasThePayloadFirst) {
  Describe({{"flag", pgoutput::kBoolOid}, {"n", pgoutput::kInt8Oid}});
  Place("n", Placement::Where::kEnvelope);
  Place("flag", Placement::Where::kEnvelope);
  EXPECT_EQ(Value("{}", {"t", "7"}), R"({"payload":"{}","n":7,"flag":true})");
}

TEST_F(RouterFormatsTest, EnvelopeSchemaIsNamedByTheFirstType) {
  format_.value.format = Format::kJsonSchema;
  Describe({{"n", pgoutput::kInt4Oid}});
  Place("n", Placement::Where::kEnvelope);
  EXPECT_THAT(Value("{}", {"7"}), HasSubstr(R"("name":"srv.public.outbox.User.Value")"));
  type_ = "Order";
  EXPECT_THAT(Value("{}", {"7"}), HasSubstr(R"("name":"srv.public.outbox.User.Value")"));
}

TEST_F(RouterFormatsTest, TombstoneNamesLaterEnvelopeSchemas) {
  route_.tombstone_on_empty = true;
  format_.value.format = Format::kJsonSchema;
  Describe({{"n", pgoutput::kInt4Oid}}, pgoutput::kTextOid);
  Place("n", Placement::Where::kEnvelope);
  EXPECT_EQ(Value("", {"7"}), "NULL");
  type_ = "Order";
  EXPECT_THAT(Value("x", {"7"}), HasSubstr(R"("name":"srv.public.outbox.User.Value")"));
}

TEST_F(RouterFormatsTest, MissingMemberCanBeOmittedFromTheEnvelope) {
  source_.missing_columns = MissingColumns::kIgnore;
  Place("nope", Placement::Where::kEnvelope);
  Place("nope", Placement::Where::kHeader);
  EXPECT_EQ(Value("{}"), R"({"payload":"{}"})");
}

TEST_F(RouterFormatsTest, OneVersionWithTwoPayloadSchemasIsAnError) {
  format_.expand_json = true;
  source_.tables.front().columns.version = "v";
  Describe({{"v", pgoutput::kInt4Oid}});
  Place("v", Placement::Where::kEnvelope);
  EXPECT_EQ(Value("{\"a\": 1}", {"1"}), R"({"payload":{"a":1},"v":1})");
  EXPECT_THAT(Route("{\"b\": 1}", {"1"}), HasError(ErrorCode::kValueInvalid, "version 1"));
  EXPECT_EQ(Value("{\"b\": 1}", {"2"}), R"({"payload":{"b":1},"v":2})");
}

TEST_F(RouterFormatsTest, ExpansionCreatesMembers) {
  format_.expand_json = true;
  EXPECT_EQ(Value(R"({"b": 1e2, "a": {"x": null, "y": []}, "l": [1, null]})"),
            R"({"b":100.0,"a":{},"l":[1,null]})");
  EXPECT_EQ(Value(R"({"n": [1, 2.0]})"), R"("{\"n\": [1, 2.0]}")") << "no schema: unchanged";
  EXPECT_EQ(Value("42"), "\"42\"");
}

TEST_F(RouterFormatsTest, ExpansionThatLosesMembersIsAnError) {
  format_.expand_json = true;
  EXPECT_THAT(Route(R"({"ex": [{"a": [{"x": 1}]}, {"a": [{"y": 2}]}]})"),
              HasError(ErrorCode::kValueInvalid, "\"y\""));
  EXPECT_THAT(Route(R"({"big": 18446744073709551615})"), HasError(ErrorCode::kValueInvalid));
}

TEST_F(RouterFormatsTest, HeadersAreTextInConfiguredOrder) {
  format_.context_headers = true;
  Describe({{"flag", pgoutput::kBoolOid}, {"at", pgoutput::kTimestamptzOid, false, 3}});
  Place("at", Placement::Where::kHeader);
  Place("flag", Placement::Where::kHeader);
  Place("id", Placement::Where::kHeader);
  std::vector<std::string> told;
  for (const Header& header : Routed("{}", {"t", "2019-03-24 20:52:59.1+00"}).headers) {
    told.push_back(std::string(header.name) + "=" + std::string(header.value.value_or("NULL")));
  }
  EXPECT_THAT(
      told,
      ElementsAre("__debezium.context.connectorLogicalName=srv", "__debezium.context.taskId=0",
                  "__debezium.context.connectorName=postgresql", "__debezium.context.runId=run-1",
                  "id=10711fa5-0000-0000-0000-000000000001", "at=2019-03-24T20:52:59.100Z",
                  "flag=true", "id=10711fa5-0000-0000-0000-000000000001"));
}

TEST_F(RouterFormatsTest, PartitionsAreInt4) {
  Describe({{"p", pgoutput::kInt8Oid}});
  Place("p", Placement::Where::kPartition);
  EXPECT_THAT(Route("{}", {"1"}), HasError(ErrorCode::kColumnType, "partition"));
}

TEST_F(RouterFormatsTest, AggregateTypeIsText) {
  source_.tables.front().columns.aggregate_type = "n";
  Describe({{"n", pgoutput::kInt4Oid}});
  EXPECT_THAT(Route("{}", {"7"}), HasError(ErrorCode::kColumnType, "aggregate type"));
}

TEST_F(RouterFormatsTest, UnsupportedTypeIsNamed) {
  Describe({{"odd", pgoutput::kFirstUserOid}});
  Place("odd", Placement::Where::kHeader);
  EXPECT_THAT(Route("{}", {"x"}), HasError(ErrorCode::kColumnType, "\"odd\""));
}

class DebeziumTimestampTest : public RouterFormatsTest {
 protected:
  DebeziumTimestampTest() {
    route_.timestamp = TimestampSource::kColumn;
    route_.timestamp_column = "at";
  }
  std::optional<int64_t> Millis(std::optional<std::string> text) {
    Describe({{"at", pgoutput::kTimestampOid}});
    const auto time = Routed("{}", {std::move(text)}).timestamp;
    return time ? std::optional(time->time_since_epoch().count() / 1000) : std::nullopt;
  }
};

TEST_F(DebeziumTimestampTest, MillisecondsAreRoundedTowardsZero) {
  EXPECT_EQ(Millis("2019-03-24 20:52:59.0019"), 1'553'460'779'001);
  EXPECT_EQ(Millis("1969-12-31 23:59:59.9995"), 0);
  EXPECT_EQ(Millis("infinity"), 9'223'372'036'854'775);
}

TEST_F(DebeziumTimestampTest, NullAndMinusOneUseTheProducersTimestamp) {
  EXPECT_EQ(Millis(std::nullopt), std::nullopt);
  EXPECT_EQ(Millis("1969-12-31 23:59:59.999"), std::nullopt);
}

TEST_F(DebeziumTimestampTest, TimeBeforeTheEpochIsRejected) {
  Describe({{"at", pgoutput::kTimestampOid}});
  EXPECT_THAT(Route("{}", {"1969-12-31 23:59:55"}), HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(Route("{}", {"-infinity"}), HasError(ErrorCode::kValueInvalid));
}

TEST_F(DebeziumTimestampTest, OtherTypesAreRejected) {
  Describe({{"at", pgoutput::kTimestamptzOid}});
  EXPECT_THAT(Route("{}", {"2019-03-24 20:52:59+00"}),
              HasError(ErrorCode::kColumnType, "timestamp"));
}

}  // namespace
}  // namespace walrelay

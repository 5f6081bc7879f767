#include "route/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fakes/allocation_counter.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/sample_rows.h"
#include "fakes/status_matchers.h"
#include "pgoutput/decoder.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using testing::ColumnSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using testing::TextRow;
using testing::Value;

using testing::kOutbox;
constexpr uint32_t kOther = 16400;
using testing::kCommitTime;

MATCHER_P2(HeaderIs, name, value, "") {
  *result_listener << arg.name << "=" << arg.value.value_or("NULL");
  return arg.name == name && arg.value == OptionalBytes(value);
}

// Tests the router as in a session: messages as bytes, through the real decoder.
class RouterTest : public ::testing::Test {
 protected:
  RouterTest() { Describe(Canonical()); }

  static std::vector<ColumnSpec> Canonical() {
    return {{"id", pgoutput::kUuidOid, true}, {"aggregate_type"}, {"aggregate_id"}, {"event_type"},
            {"payload", pgoutput::kJsonbOid}, {"trace_id"}};
  }
  // Columns after the canonical ones.
  static std::vector<ColumnSpec> CanonicalAnd(const std::vector<ColumnSpec>& more) {
    auto columns = Canonical();
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  }

  void StartSession() {
    std::vector<TableInfo> info;
    for (const OutboxTable& table : source_.tables) {
      info.push_back({.schema = table.schema, .name = table.name, .oid = oids_[table.name]});
    }
    router().StartSession(info);
  }
  // Handles a Relation message; true if the router treats the table as an outbox.
  bool Describe(const std::vector<ColumnSpec>& columns, uint32_t oid = kOutbox,
                const char* name = "outbox", const char* schema = "public") {
    bytes_ = testing::RelationMessage(oid, schema, name, columns);
    return router().OnRelation(
        relations_.Replace(std::get<pgoutput::Relation>(*decoder_.Decode(bytes_))));
  }
  absl::StatusOr<Record> Route(const testing::Row& row, uint32_t oid = kOutbox) {
    return router().Route(oid, Decode(row), kCommitTime);
  }
  absl::StatusOr<Record> Route(std::vector<std::optional<std::string>> values) {
    return Route(TextRow(std::move(values)));
  }
  // The record of a row; the row must be routable.
  Record Routed(const testing::Row& row, uint32_t oid = kOutbox) {
    const auto record = Route(row, oid);
    EXPECT_THAT(record, IsOk());
    return record.ok() ? *record : Record();
  }
  Record Routed(std::vector<std::optional<std::string>> values) {
    return Routed(TextRow(std::move(values)));
  }
  std::optional<std::string_view> TopicOf(std::vector<std::optional<std::string>> values) {
    return router().TopicOf(kOutbox, Decode(TextRow(std::move(values))));
  }
  std::string Identify(const testing::Row& row) { return router().Identify(kOutbox, Decode(row)); }
  pgoutput::Tuple Decode(const testing::Row& row) {
    bytes_ = testing::InsertMessage(kOutbox, row);
    return std::get<pgoutput::Insert>(*decoder_.Decode(bytes_)).row;
  }
  // Created at first use, with the current configuration.
  Router& router() {
    if (!router_) {
      router_.emplace(*Router::Create(source_, route_));
      StartSession();
    }
    return *router_;
  }
  // Drops the router: the next use creates one with the changed configuration.
  void Reconfigure() { router_.reset(); }

  const std::string id_ = "10711fa5-0000-0000-0000-000000000001";
  SourceConfig source_;
  RouteConfig route_;
  std::map<std::string, uint32_t> oids_ = {{"outbox", kOutbox}};
  std::optional<Router> router_;
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  std::string bytes_;
};

TEST_F(RouterTest, RowBecomesACompleteRecord) {
  const Record record =
      Routed({id_, "order", "order-1", "OrderPlaced", "{\"total\": 1.10}", "00-4bf9-01"});
  EXPECT_EQ(record.topic, "outbox.event.order");
  EXPECT_EQ(record.key, "order-1");
  EXPECT_EQ(record.value, "{\"total\": 1.10}");
  EXPECT_THAT(record.headers,
              ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", "OrderPlaced"),
                          HeaderIs("trace_id", "00-4bf9-01")));
  EXPECT_EQ(record.partition, std::nullopt);
  EXPECT_EQ(record.timestamp, kCommitTime);
}

TEST_F(RouterTest, TraceContextBecomesHeadersUnchanged) {
  Describe(CanonicalAnd({{"traceparent"}, {"tracestate"}}));
  const Record record = Routed({id_, "order", "o", "t", "1", "x", "00-4bf9-00f0-01", "congo=t61"});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("traceparent", "00-4bf9-00f0-01"),
                                          HeaderIs("tracestate", "congo=t61"), HeaderIs("id", id_),
                                          HeaderIs("event_type", "t"), HeaderIs("trace_id", "x")));
}

TEST_F(RouterTest, NullTraceContextCreatesNoHeader) {
  Describe(CanonicalAnd({{"traceparent"}, {"tracestate"}, {"tracingspancontext"}}));
  const Record record =
      Routed({id_, "order", "o", "t", "1", "x", std::nullopt, std::nullopt, std::nullopt});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", "t"),
                                          HeaderIs("trace_id", "x")));
}

TEST_F(RouterTest, DebeziumsSpanContextBecomesTheSameHeaders) {
  Describe(CanonicalAnd({{"tracingspancontext"}}));
  const Record record =
      Routed({id_, "order", "o", "t", "1", "x",
              "#now\ntraceparent=00-4bf9-00f0-01\ntracestate=congo\\=t61\nb=c\n"});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("traceparent", "00-4bf9-00f0-01"),
                                          HeaderIs("tracestate", "congo=t61"), HeaderIs("id", id_),
                                          HeaderIs("event_type", "t"), HeaderIs("trace_id", "x")));
}

TEST_F(RouterTest, PlacementOfATraceColumnOverridesTheHeader) {
  source_.tables[0].placements = {{.column = "traceparent", .name = "ce_traceparent"}};
  Describe(CanonicalAnd({{"traceparent"}}));
  const Record record = Routed({id_, "order", "o", "t", "1", "x", "00-4bf9-00f0-01"});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", "t"),
                                          HeaderIs("trace_id", "x"),
                                          HeaderIs("ce_traceparent", "00-4bf9-00f0-01")));
}

TEST_F(RouterTest, CommitTimeBecomesTheLastHeader) {
  route_.timestamp = TimestampSource::kNow;
  route_.commit_time_header = "ce_time";
  source_.tables[0].placements = {{.column = "event_type", .name = "ce_type"}};
  Reconfigure();
  Describe({{"id"}, {"aggregate_type"}, {"aggregate_id"}, {"event_type"}, {"payload"}});
  const Record record = Routed({"1", "order", "o", "made", "1"});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", "1"), HeaderIs("event_type", "made"),
                                          HeaderIs("ce_type", "made"),
                                          HeaderIs("ce_time", "2026-11-20T08:14:02.000123Z")));
  EXPECT_EQ(record.timestamp, std::nullopt);
  // The next transaction has another time.
  const auto later = router().Route(kOutbox, Decode(TextRow({"1", "order", "o", "made", "1"})),
                                    kCommitTime + Micros(1));
  ASSERT_THAT(later, IsOk());
  EXPECT_THAT(later->headers.back(), HeaderIs("ce_time", "2026-11-20T08:14:02.000124Z"));
}

// A row of a table whose server does not record commit times.
TEST_F(RouterTest, UnknownCommitTimeIsNeitherAHeaderNorATimestamp) {
  route_.commit_time_header = "ce_time";
  Reconfigure();
  Describe(Canonical());
  const auto record =
      router().Route(kOutbox, Decode(TextRow({id_, "order", "o", "made", "1", "x"})), std::nullopt);
  ASSERT_THAT(record, IsOk());
  EXPECT_THAT(record->headers, ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", "made"),
                                           HeaderIs("trace_id", "x")));
  EXPECT_EQ(record->timestamp, std::nullopt);
}

TEST_F(RouterTest, NullPayloadIsATombstoneAndEmptyPayloadIsNot) {
  const Record tombstone = Routed({id_, "order", "o", "t", std::nullopt, "x"});
  EXPECT_EQ(tombstone.value, std::nullopt);
  const Record empty = Routed({id_, "order", "o", "t", "", "x"});
  EXPECT_EQ(empty.value, "");
}

TEST_F(RouterTest, NullHeaderIsKeptAndIsNotEmpty) {
  const Record record = Routed({std::nullopt, "order", "o", std::nullopt, "1", ""});
  EXPECT_THAT(record.headers,
              ElementsAre(HeaderIs("id", std::nullopt), HeaderIs("event_type", std::nullopt),
                          HeaderIs("trace_id", "")));
}

TEST_F(RouterTest, EmptyKeyIsAKey) {
  const Record record = Routed({id_, "order", "", "t", "1", "x"});
  EXPECT_EQ(record.key, "");
}

TEST_F(RouterTest, NullKeyAndNullTypeHaveSeparateErrors) {
  EXPECT_THAT(Route({id_, "order", std::nullopt, "t", "1", "x"}), HasError(ErrorCode::kKeyMissing));
  EXPECT_THAT(Route({id_, std::nullopt, "o", "t", "1", "x"}), HasError(ErrorCode::kRouteMissing));
}

TEST_F(RouterTest, ErrorDoesNotAffectTheNextRow) {
  EXPECT_THAT(Route({id_, "not legal", "o", "t", "1", "x"}), HasError(ErrorCode::kTopicInvalid));
  const Record record = Routed({id_, "order", "o", "t", "1", "x"});
  EXPECT_EQ(record.headers.size(), 3u);
  EXPECT_EQ(record.topic, "outbox.event.order");
}

TEST_F(RouterTest, TopicOfARowIsThatOfItsRecord) {
  EXPECT_EQ(TopicOf({id_, "order", "o", "t", "1", "x"}), "outbox.event.order");
  EXPECT_EQ(TopicOf({id_, std::nullopt, "o", "t", "1", "x"}), std::nullopt);
  EXPECT_EQ(TopicOf({id_, "not legal", "o", "t", "1", "x"}), std::nullopt);
  EXPECT_EQ(TopicOf({id_, "order"}), std::nullopt);
}

TEST_F(RouterTest, PlacementsFollowInConfiguredOrder) {
  source_.tables[0].placements = {{.column = "tenant", .name = "x-tenant"},
                                  {.column = "id", .name = "id"},
                                  {.column = "aggregate_id", .name = "again"}};
  Reconfigure();
  Describe(CanonicalAnd({{"tenant"}}));
  const Record record = Routed({id_, "order", "o", "t", "1", "x", std::nullopt});
  EXPECT_THAT(
      record.headers,
      ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", "t"), HeaderIs("trace_id", "x"),
                  HeaderIs("x-tenant", std::nullopt), HeaderIs("id", id_), HeaderIs("again", "o")));
}

TEST_F(RouterTest, MissingColumnsCreateNoHeaders) {
  Describe({{"aggregatetype"}, {"aggregateid"}, {"payload"}, {"id"}});
  const Record record = Routed({"order", "o", "1", "7"});
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", "7")));
}

TEST_F(RouterTest, BinaryRowsYieldTheSameRecord) {
  const Record record =
      Routed({Value::Binary(std::string("\x10\x71\x1f\xa5\0\0\0\0\0\0\0\0\0\0\0\x01", 16)),
              Value::Binary("order"), Value::Binary("order-1"), Value::Null(),
              Value::Binary("\x01{\"a\": 1}"), Value::Binary("")});
  EXPECT_EQ(record.topic, "outbox.event.order");
  EXPECT_EQ(record.key, "order-1");
  EXPECT_EQ(record.value, "{\"a\": 1}");
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", id_), HeaderIs("event_type", std::nullopt),
                                          HeaderIs("trace_id", "")));
}

TEST_F(RouterTest, SeveralDecodedColumnsOfOneRowDoNotShareMemory) {
  Describe({{"id", pgoutput::kByteaOid},
            {"aggregate_type"},
            {"aggregate_id", pgoutput::kByteaOid},
            {"payload", pgoutput::kByteaOid}});
  const Record record = Routed({"\\x6964", "order", "\\x6b6579", "\\x00ff"});
  EXPECT_EQ(record.key, "key");
  EXPECT_EQ(record.value, std::string_view("\0\xff", 2));
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", "id")));
}

TEST_F(RouterTest, PartitionComesFromTheColumnAndNullUsesTheKey) {
  source_.tables[0].placements = {
      {.column = "shard", .where = Placement::Where::kPartition, .name = ""}};
  Reconfigure();
  Describe(CanonicalAnd({{"shard", pgoutput::kInt4Oid}}));
  EXPECT_THAT(Routed({id_, "order", "o", "t", "1", "x", "11"}).partition, Optional(11));
  EXPECT_EQ(Routed({id_, "order", "o", "t", "1", "x", std::nullopt}).partition, std::nullopt);
  EXPECT_THAT(Route({id_, "order", "o", "t", "1", "x", "-1"}),
              HasError(ErrorCode::kValueInvalid, "partition"));
}

class RouterTimestampTest : public RouterTest {
 protected:
  void Use(TimestampSource timestamp) {
    route_.timestamp = timestamp;
    route_.timestamp_column = "at";
    Reconfigure();
    Describe(CanonicalAnd({{"at", pgoutput::kTimestamptzOid}}));
  }
  std::vector<std::optional<std::string>> RowOf(std::optional<std::string> at) const {
    return {id_, "order", "o", "t", "1", "x", std::move(at)};
  }
  std::optional<WallTime> RoutedAt(std::optional<std::string> at) {
    return Routed(RowOf(std::move(at))).timestamp;
  }
};

TEST_F(RouterTimestampTest, NowUsesTheProducersTimestamp) {
  Use(TimestampSource::kNow);
  EXPECT_EQ(RoutedAt("2026-11-20 08:14:02+00"), std::nullopt);
}

TEST_F(RouterTimestampTest, CommitUsesTheCommitTime) {
  Use(TimestampSource::kCommit);
  EXPECT_EQ(RoutedAt("2020-01-01 00:00:00+00"), kCommitTime);
}

TEST_F(RouterTimestampTest, ColumnUsesTheRowsTimeAndNullUsesTheCommitTime) {
  Use(TimestampSource::kColumn);
  EXPECT_EQ(RoutedAt("1970-01-01 00:00:01+00"), WallTime(std::chrono::seconds(1)));
  EXPECT_EQ(RoutedAt(std::nullopt), kCommitTime);
  EXPECT_THAT(Route(RowOf("infinity")), HasError(ErrorCode::kValueInvalid, "\"infinity\""));
}

TEST_F(RouterTest, RowWithTheWrongColumnCountIsAViolation) {
  EXPECT_THAT(Route({id_, "order", "o", "t", "1"}),
              HasError(ErrorCode::kProtocolViolation, "a row of 5 values"));
  EXPECT_THAT(Route({id_, "order", "o", "t", "1", "x", "y"}),
              HasError(ErrorCode::kProtocolViolation));
  EXPECT_THAT(Route(testing::Row{}), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(RouterTest, MissingColumnFailsAtTheFirstRow) {
  EXPECT_TRUE(Describe({{"id"}, {"payload"}}));
  EXPECT_TRUE(router().IsOutbox(kOutbox));
  EXPECT_THAT(Route({id_, "1"}), HasError(ErrorCode::kColumnMissing, "aggregate_type"));
}

TEST_F(RouterTest, RowsFollowTheLastRelationMessage) {
  Describe({{"trace_id"}, {"payload"}, {"aggregate_id"}, {"aggregate_type"}, {"id"}});
  const Record record = Routed({"x", "1", "o", "order", "7"});
  EXPECT_EQ(record.key, "o");
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", "7"), HeaderIs("trace_id", "x")));
}

TEST_F(RouterTest, OtherTablesAreNotOutboxes) {
  EXPECT_FALSE(Describe(Canonical(), kOther, "other"));
  EXPECT_FALSE(Describe(Canonical(), kOther, "outbox", "billing"));
  EXPECT_FALSE(router().IsOutbox(kOther));
  EXPECT_TRUE(router().IsOutbox(kOutbox));
}

TEST_F(RouterTest, RenamedTableIsRecognizedByItsOid) {
  EXPECT_TRUE(Describe(Canonical(), kOutbox, "outbox_old"));
  EXPECT_THAT(Route({id_, "order", "o", "t", "1", "x"}), IsOk());
}

TEST_F(RouterTest, RecreatedTableIsRecognizedByItsName) {
  EXPECT_TRUE(Describe(Canonical(), kOther, "outbox"));
  EXPECT_TRUE(router().IsOutbox(kOther));
  EXPECT_THAT(Route(TextRow({id_, "order", "o", "t", "1", "x"}), kOther), IsOk());
}

TEST_F(RouterTest, TableThatNoLongerHasTheNameIsRemoved) {
  Describe(Canonical(), kOther, "outbox");
  EXPECT_FALSE(Describe(Canonical(), kOther, "something else"));
  EXPECT_FALSE(router().IsOutbox(kOther));
}

TEST_F(RouterTest, SessionKeepsNoStateOfThePreviousOne) {
  StartSession();
  EXPECT_FALSE(router().IsOutbox(kOutbox));
  oids_["outbox"] = kOther;
  StartSession();
  EXPECT_FALSE(Describe(Canonical(), kOutbox, "outbox_old"));
  EXPECT_TRUE(Describe(Canonical(), kOther, "renamed"));
}

TEST_F(RouterTest, EachTableHasItsOwnMapping) {
  OutboxTable billing{.schema = "billing", .name = "events"};
  billing.columns.aggregate_type = "kind";
  billing.placements = {{.column = "kind", .name = "ce_type"}};
  source_.tables.push_back(billing);
  oids_["events"] = kOther;
  Reconfigure();
  EXPECT_TRUE(Describe(Canonical()));
  EXPECT_TRUE(
      Describe({{"kind"}, {"aggregate_id"}, {"payload"}, {"id"}}, kOther, "events", "billing"));
  EXPECT_EQ(Routed(TextRow({id_, "order", "o", "t", "1", "x"})).headers.size(), 3u);
  const Record record = Routed(TextRow({"invoice", "i-1", "1", "7"}), kOther);
  EXPECT_EQ(record.topic, "outbox.event.invoice");
  EXPECT_THAT(record.headers, ElementsAre(HeaderIs("id", "7"), HeaderIs("ce_type", "invoice")));
}

TEST_F(RouterTest, IdentifyNamesIdAndKeyButNotThePayload) {
  const std::string text = Identify(TextRow({id_, "order", "order-1", "t", "card 4111", "trace"}));
  EXPECT_EQ(text, "id=" + id_ + " key=order-1");
}

TEST_F(RouterTest, IdentifyIsTruncatedAndEscaped) {
  const std::string forged = "k\r\nlevel=error \x1b[2J\xff" + std::string(100'000, 'k');
  const std::string text =
      Identify(TextRow({std::string(1000, 'i'), "order", forged, "t", "1", "x"}));
  EXPECT_THAT(text, HasSubstr("key=k\\x0d\\x0alevel=error \\x1b[2J\\xffkkk"));
  EXPECT_LT(text.size(), 200u);
}

TEST_F(RouterTest, IdentifyMarksUnknownValues) {
  EXPECT_EQ(Identify(TextRow({std::nullopt, "order", std::nullopt, "t", "1", "x"})),
            "id=NULL key=NULL");
  EXPECT_EQ(Identify(TextRow({id_})), "id=" + id_ + " key=?");
  EXPECT_EQ(router().Identify(kOther, Decode(TextRow({id_}))), "");
}

TEST_F(RouterTest, KeyOfReturnsTheKeyIfReadable) {
  EXPECT_THAT(router().KeyOf(kOutbox, Decode(TextRow({id_, "not legal", "o", "t", "1", "x"}))),
              Optional(std::string_view("o")));
  EXPECT_EQ(router().KeyOf(kOutbox, Decode(TextRow({id_, "order", std::nullopt, "t", "1", "x"}))),
            std::nullopt);
  EXPECT_EQ(router().KeyOf(kOutbox, Decode(TextRow({id_}))), std::nullopt);
  EXPECT_EQ(router().KeyOf(kOther, Decode(TextRow({id_}))), std::nullopt);
  Describe({{"aggregate_id", pgoutput::kByteaOid}});
  EXPECT_EQ(router().KeyOf(kOutbox, Decode(TextRow({"\\x1"}))), std::nullopt);
  EXPECT_THAT(router().KeyOf(kOutbox, Decode(TextRow({"\\x6b"}))), Optional(std::string_view("k")));
}

TEST_F(RouterTest, WhatATransformHidesIsNotShown) {
  route_.compatibility = Compatibility::kDebezium;
  source_.tables[0].transforms = {
      {.column = "aggregate_id", .kind = ColumnTransform::Kind::kMask, .length = 3},
      {.column = "payload", .length = 2},
      {.column = "file", .length = 1},
      {.column = "id", .kind = ColumnTransform::Kind::kMask, .length = 3}};
  Reconfigure();
  Describe(CanonicalAnd({{"file", pgoutput::kByteaOid}}));
  const testing::Row row =
      TextRow({id_, "order", "secret", "t", "{}\x01", std::nullopt, "\\x0102"});
  EXPECT_EQ(Identify(row), "id=" + id_ + " key=***");
  EXPECT_THAT(router().KeyOf(kOutbox, Decode(row)), Optional(std::string_view("***")));
  const pgoutput::Tuple shown = router().PublishedRow(kOutbox, Decode(row));
  ASSERT_EQ(shown.size(), 7u);
  EXPECT_EQ(shown[0].bytes, id_);
  EXPECT_EQ(shown[2].bytes, "***");
  EXPECT_EQ(shown[4].bytes, "{}");
  EXPECT_TRUE(shown[5].is_null());
  EXPECT_EQ(shown[6].kind, pgoutput::TupleValue::Kind::kBinary);
  EXPECT_EQ(shown[6].bytes, "\x01");
}

TEST_F(RouterTest, SteadyStateAllocatesNothingPerRow) {
  source_.tables[0].placements = {{.column = "tenant", .name = "x-tenant"}};
  route_.commit_time_header = "ce_time";
  Reconfigure();
  Describe({{"id", pgoutput::kUuidOid},
            {"aggregate_type"},
            {"aggregate_id", pgoutput::kInt8Oid},
            {"event_type"},
            {"payload", pgoutput::kByteaOid},
            {"tenant"}});
  const testing::Row row = {
      Value::Binary(std::string(16, 'u')),         Value::Text("order"),
      Value::Binary(std::string(8, '1')),          Value::Null(),
      Value::Text("\\x" + std::string(2000, 'a')), Value::Text("tenant of some length")};
  const pgoutput::Tuple decoded = Decode(row);
  ASSERT_THAT(router().Route(kOutbox, decoded, kCommitTime), IsOk());
  EXPECT_EQ(testing::AllocationsDuring([&] {
              for (int i = 0; i < 10'000; ++i) {
                ASSERT_TRUE(router().Route(kOutbox, decoded, kCommitTime + Micros(i)).ok());
              }
            }),
            0u);
}

TEST_F(RouterTest, TransformsAllocateNothingPerRow) {
  source_.tables[0].transforms = {
      {.column = "aggregate_type", .length = 5},
      {.column = "aggregate_id", .kind = ColumnTransform::Kind::kHash, .salt = Secret("salt")},
      {.column = "event_type",
       .kind = ColumnTransform::Kind::kHashSerialized,
       .algorithm = HashAlgorithm::kSha512,
       .salt = Secret("salt")},
      {.column = "payload", .kind = ColumnTransform::Kind::kMask, .length = 1000}};
  Reconfigure();
  Describe({{"id"}, {"aggregate_type"}, {"aggregate_id"}, {"event_type"}, {"payload"}});
  const testing::Row row = TextRow(
      {"1", "order of a customer", "customer-7", "\U0001F600 " + std::string(70'000, 'x'), "{}"});
  const pgoutput::Tuple decoded = Decode(row);
  ASSERT_THAT(router().Route(kOutbox, decoded, kCommitTime), IsOk());
  EXPECT_EQ(testing::AllocationsDuring([&] {
              for (int i = 0; i < 100; ++i) {
                ASSERT_TRUE(router().Route(kOutbox, decoded, kCommitTime).ok());
              }
            }),
            0u);
}

}  // namespace
}  // namespace walrelay

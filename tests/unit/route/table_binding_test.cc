#include "route/table_binding.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "route/message_row.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class TableBindingTest : public ::testing::Test {
 protected:
  TableBindingTest() { relation_.schema = "public", relation_.name = "outbox"; }

  // The server describes the table again, with these columns of type text.
  const TableBinding& Bind(const std::vector<std::string>& columns) {
    relation_.columns.clear();
    for (const std::string& name : columns) {
      relation_.columns.push_back({name, pgoutput::kTextOid});
    }
    return Bind();
  }
  const TableBinding& Bind() {
    binding_ = BindTable(relation_, table_, {.route = route_, .format = format_});
    return binding_;
  }
  void ExpectMissing(const std::vector<std::string>& columns, const std::string& message) {
    EXPECT_THAT(Bind(columns).status, HasError(ErrorCode::kColumnMissing, message));
  }

  const std::vector<std::string> canonical_ = {
      "id", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at", "trace_id"};
  const std::vector<std::string> debezium_ = {"id", "aggregatetype", "aggregateid", "type",
                                              "payload"};
  pgoutput::CachedRelation relation_;
  OutboxTable table_;
  RouteConfig route_;
  FormatConfig format_;
  TableBinding binding_;
};

TEST_F(TableBindingTest, CanonicalNamesAreBound) {
  const TableBinding& binding = Bind(canonical_);
  EXPECT_THAT(binding.status, IsOk());
  EXPECT_EQ(binding.column_count, 7u);
  EXPECT_EQ(binding.id.index, 0);
  EXPECT_EQ(binding.aggregate_type.index, 1);
  EXPECT_EQ(binding.aggregate_id.index, 2);
  EXPECT_EQ(binding.event_type.index, 3);
  EXPECT_EQ(binding.payload.index, 4);
  EXPECT_EQ(binding.trace_id.index, 6);
  EXPECT_EQ(binding.payload.type_oid, pgoutput::kTextOid);
  EXPECT_FALSE(binding.timestamp.present());
  EXPECT_FALSE(binding.partition.present());
  EXPECT_TRUE(binding.headers.empty());
}

TEST_F(TableBindingTest, DebeziumsNamesAreBound) {
  const TableBinding& binding = Bind(debezium_);
  EXPECT_THAT(binding.status, IsOk());
  EXPECT_EQ(binding.aggregate_type.index, 1);
  EXPECT_EQ(binding.aggregate_id.index, 2);
  EXPECT_EQ(binding.event_type.index, 3);
  EXPECT_FALSE(binding.trace_id.present());
}

TEST_F(TableBindingTest, NamesMayBeMixedAndCanonicalOnesTakePrecedence) {
  const TableBinding& binding = Bind({"type", "aggregateid", "aggregate_type", "payload",
                                      "aggregatetype", "id", "event_type", "aggregate_id"});
  EXPECT_THAT(binding.status, IsOk());
  EXPECT_EQ(binding.aggregate_type.index, 2);
  EXPECT_EQ(binding.aggregate_id.index, 7);
  EXPECT_EQ(binding.event_type.index, 6);
  Bind({"aggregateid", "aggregate_type", "payload", "id", "type"});
  EXPECT_EQ(binding.aggregate_id.index, 0);
  EXPECT_EQ(binding.aggregate_type.index, 1);
  EXPECT_EQ(binding.event_type.index, 4);
}

TEST_F(TableBindingTest, ExplicitNameExcludesTheDefaults) {
  table_.columns.aggregate_type = "kind";
  std::vector<std::string> columns = canonical_;
  ExpectMissing(columns, "has no column \"kind\" (aggregate type)");
  columns.emplace_back("kind");
  EXPECT_THAT(Bind(columns).status, IsOk());
  EXPECT_EQ(binding_.aggregate_type.index, 7);
}

TEST_F(TableBindingTest, EmptyNameOmitsThePart) {
  table_.columns.id = "";
  table_.columns.event_type = "";
  table_.columns.trace_id = "";
  EXPECT_THAT(Bind(canonical_).status, IsOk());
  EXPECT_FALSE(binding_.id.present());
  EXPECT_FALSE(binding_.event_type.present());
  EXPECT_FALSE(binding_.trace_id.present());
}

TEST_F(TableBindingTest, NamedOptionalPartsMustExist) {
  table_.columns.trace_id = "traceparent";
  ExpectMissing(debezium_, "\"traceparent\" (trace id)");
  table_.columns.trace_id.reset();
  table_.columns.event_type = "kind";
  ExpectMissing(debezium_, "\"kind\" (event type)");
}

TEST_F(TableBindingTest, MissingColumnIsNamedWithTheExistingOnes) {
  ExpectMissing({"id", "aggregate_type", "payload"},
                "public.outbox has no column \"aggregate_id\" (aggregate id); it has id, "
                "aggregate_type, payload");
  ExpectMissing({"aggregate_type", "aggregate_id", "payload"}, "\"id\" (event id)");
  ExpectMissing({"id", "aggregate_id", "payload"}, "\"aggregate_type\" (aggregate type)");
  ExpectMissing({"id", "aggregate_type", "aggregate_id"}, "\"payload\" (payload)");
}

TEST_F(TableBindingTest, TransformsColumnMustExist) {
  relation_.oid = 16385;
  table_.transforms = {{.column = "mail", .length = 1}};
  ExpectMissing(canonical_, "has no column \"mail\" (transform)");
  std::vector<std::string> columns = canonical_;
  columns.emplace_back("mail");
  EXPECT_THAT(Bind(columns).status, IsOk());
  ASSERT_EQ(binding_.transformed.size(), 1u);
  EXPECT_EQ(binding_.transformed[0].index, 7);
  EXPECT_EQ(binding_.payload.transform, nullptr);
  table_.transforms = {{.column = "tracingspancontext", .length = 1}};
  EXPECT_THAT(Bind(canonical_).status, IsOk());
}

// What was to be hidden would be published.
TEST_F(TableBindingTest, TransformMustSuitTheTypeExceptByDebeziumsRules) {
  relation_.oid = 16385;
  table_.transforms = {{.column = "payload", .kind = ColumnTransform::Kind::kMask, .length = 1}};
  EXPECT_THAT(Bind(canonical_).status, IsOk());
  EXPECT_NE(binding_.payload.transform, nullptr);
  relation_.columns[4].type_oid = pgoutput::kJsonbOid;
  EXPECT_THAT(Bind().status, HasError(ErrorCode::kColumnType, "column of this transform"));
  route_.compatibility = Compatibility::kDebezium;
  EXPECT_THAT(Bind().status, IsOk());
}

TEST_F(TableBindingTest, MessagesHaveNoTransforms) {
  relation_.oid = kMessageRelation;
  table_.transforms = {{.column = "payload", .length = 1}, {.column = "absent", .length = 1}};
  EXPECT_THAT(Bind(canonical_).status, IsOk());
  EXPECT_EQ(binding_.payload.transform, nullptr);
}

TEST_F(TableBindingTest, FirstProblemIsReported) {
  ExpectMissing({}, "\"id\" (event id); it has ");
}

TEST_F(TableBindingTest, PlacementsKeepTheirOrderAndMayRepeat) {
  table_.placements = {{.column = "trace_id", .name = "traceparent"},
                       {.column = "id", .name = "ce_id"},
                       {.column = "id", .name = "id"}};
  EXPECT_THAT(Bind(canonical_).status, IsOk());
  ASSERT_EQ(binding_.headers.size(), 3u);
  EXPECT_EQ(binding_.headers[0].name, "traceparent");
  EXPECT_EQ(binding_.headers[0].column.index, 6);
  EXPECT_EQ(binding_.headers[1].name, "ce_id");
  EXPECT_EQ(binding_.headers[2].column.index, 0);
}

TEST_F(TableBindingTest, PlacedColumnMustExist) {
  table_.placements = {{.column = "tenant", .name = "tenant"}};
  ExpectMissing(canonical_, "\"tenant\" (placement)");
}

TEST_F(TableBindingTest, PartitionMustBeAnInteger) {
  table_.placements = {{.column = "created_at", .where = Placement::Where::kPartition, .name = ""}};
  EXPECT_THAT(
      Bind(canonical_).status,
      HasError(
          ErrorCode::kColumnType,
          "column \"created_at\" of public.outbox has type 25, which cannot be the partition"));
  relation_.columns[5].type_oid = pgoutput::kInt4Oid;
  EXPECT_THAT(Bind().status, IsOk());
  EXPECT_EQ(binding_.partition.index, 5);
  EXPECT_TRUE(binding_.headers.empty());
}

TEST_F(TableBindingTest, TimestampMustBeATimestampOrMilliseconds) {
  route_.timestamp = TimestampSource::kColumn;
  route_.timestamp_column = "created_at";
  EXPECT_THAT(Bind(canonical_).status,
              HasError(ErrorCode::kColumnType, "has type 25, which cannot be the timestamp"));
  for (const uint32_t oid :
       {pgoutput::kTimestampOid, pgoutput::kTimestamptzOid, pgoutput::kInt8Oid}) {
    relation_.columns[5].type_oid = oid;
    EXPECT_THAT(Bind().status, IsOk()) << oid;
    EXPECT_EQ(binding_.timestamp.index, 5);
  }
  ExpectMissing(debezium_, "\"created_at\" (timestamp)");
}

TEST_F(TableBindingTest, EachRelationMessageIsBoundAgain) {
  EXPECT_THAT(Bind({"payload", "aggregate_id", "aggregate_type", "id"}).status, IsOk());
  EXPECT_EQ(binding_.payload.index, 0);
  // A column was added in front and another one dropped: an optional column appears, a required one
  // is missing.
  EXPECT_THAT(Bind({"trace_id", "payload", "aggregate_id", "aggregate_type", "id"}).status, IsOk());
  EXPECT_EQ(binding_.payload.index, 1);
  EXPECT_EQ(binding_.trace_id.index, 0);
  EXPECT_EQ(binding_.column_count, 5u);
  ExpectMissing({"trace_id", "aggregate_id", "aggregate_type", "id"}, "\"payload\"");
}

TEST_F(TableBindingTest, DebeziumsTimestampIsANumberOfDebezium) {
  route_.compatibility = Compatibility::kDebezium;
  route_.timestamp = TimestampSource::kColumn;
  route_.timestamp_column = "at";
  relation_.oid = pgoutput::kFirstUserOid;  // a table, not messages
  Bind({"id", "aggregatetype", "aggregateid", "payload", "at"});
  relation_.columns[4].type_oid = pgoutput::kTimestampOid;
  for (const TimeMode mode : {TimeMode::kAdaptive, TimeMode::kNanoseconds}) {
    format_.types.time = mode;
    EXPECT_THAT(Bind().status, IsOk());
  }
  for (const TimeMode mode : {TimeMode::kConnect, TimeMode::kIsoString}) {
    format_.types.time = mode;
    EXPECT_THAT(Bind().status, HasError(ErrorCode::kColumnType, "\"at\""));
  }
}

}  // namespace
}  // namespace walrelay

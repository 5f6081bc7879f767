#include "outbox/table_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table_fixture.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::kBoolOid;
using pgoutput::kByteaOid;
using pgoutput::kInt8Oid;
using pgoutput::kJsonbOid;
using pgoutput::kOidOid;
using pgoutput::kTextOid;
using pgoutput::kTimestampOid;
using pgoutput::kTimestamptzOid;
using pgoutput::kUuidOid;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TableMapping Mapped(const TableDescription& table) {
  const auto mapping = MapTable(table);
  EXPECT_TRUE(mapping.ok()) << mapping.status();
  return mapping.ok() ? *mapping : TableMapping();
}

void ExpectUnsuitable(const TableDescription& table, const std::string& reason) {
  const auto mapping = MapTable(table);
  EXPECT_TRUE(HasCode(mapping.status(), ErrorCode::kTableUnsuitable)) << mapping.status();
  EXPECT_THAT(MessageOf(mapping.status()), HasSubstr(reason));
}

TEST(TableMappingTest, DefaultNamesNeedNoDecision) {
  const TableMapping mapping = Mapped(DefaultTable());
  EXPECT_EQ(mapping.id.column, "id");
  EXPECT_EQ(mapping.aggregate_type.column, "aggregate_type");
  EXPECT_EQ(mapping.aggregate_id.column, "aggregate_id");
  EXPECT_EQ(mapping.event_type.column, "event_type");
  EXPECT_EQ(mapping.payload.column, "payload");
  EXPECT_EQ(mapping.topic, "outbox.event.${routedByValue}");
  EXPECT_THAT(mapping.decisions, IsEmpty());
  EXPECT_THAT(mapping.unpublished, IsEmpty());
}

TEST(TableMappingTest, WithoutAggregateTypeTheTopicIsFixed) {
  TableDescription table = Table({Column("id", kInt8Oid), TextColumn("aggregate_id"),
                                  TextColumn("type"), Column("payload", kJsonbOid)});
  table.name = "Ereignisse für $1";
  const TableMapping mapping = Mapped(table);
  EXPECT_EQ(mapping.topic, "outbox.event.Ereignisse_f__r__1");
  EXPECT_EQ(mapping.aggregate_type.column, "type");
  EXPECT_EQ(mapping.event_type.column, "type");
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("all events go to the topic")));
}

// NULL as aggregate type would block publishing, although the topic does not depend on it.
TEST(TableMappingTest, ColumnOfAFixedTopicIsNeverNull) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kInt8Oid), Column("aggregate_id", kTextOid, false),
                    Column("type", kTextOid, false), Column("payload", kJsonbOid)}));
  EXPECT_EQ(mapping.aggregate_type.column, "id");
}

TEST(TableMappingTest, ColumnThatHoldsATopicIsTheWholeTopic) {
  const TableMapping mapping = Mapped(Table({Column("id", kInt8Oid), TextColumn("Topic"),
                                             TextColumn("key"), Column("value", kByteaOid)}));
  EXPECT_EQ(mapping.aggregate_type.column, "Topic");
  EXPECT_EQ(mapping.topic, "${routedByValue}");
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("route.allow")));
}

TEST(TableMappingTest, TypeBesideAnEventTypeIsTheAggregateTypeAndADecision) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kUuidOid), TextColumn("aggregate_id"), TextColumn("type"),
                    TextColumn("payload_type"), Column("payload", kByteaOid)}));
  EXPECT_EQ(mapping.aggregate_type.column, "type");
  EXPECT_EQ(mapping.event_type.column, "payload_type");
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("check both")));
}

TEST(TableMappingTest, WithoutAggregateIdTheIdIsTheKeyAndSaysSo) {
  const TableMapping mapping = Mapped(
      Table({Column("id", kUuidOid), TextColumn("aggregate_type"), Column("data", kJsonbOid)}));
  EXPECT_EQ(mapping.aggregate_id.column, "id");
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("events have no order")));
}

TEST(TableMappingTest, ColumnsThatMayBeNullAreDecisions) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kUuidOid), Column("aggregate_type", kTextOid, false),
                    Column("aggregate_id", kTextOid, false), Column("payload", kJsonbOid)}));
  EXPECT_THAT(mapping.decisions,
              ElementsAre(HasSubstr("on_error.null_key"), HasSubstr("on_error.null_route")));
}

TEST(TableMappingTest, AmbiguousNamesAreDecisions) {
  TableDescription table = DefaultTable();
  table.columns.push_back(Column("event_id", kUuidOid));
  table.columns.push_back(TextColumn("entity_id"));
  const TableMapping mapping = Mapped(table);
  EXPECT_EQ(mapping.id.column, "event_id");
  EXPECT_THAT(mapping.decisions,
              ElementsAre("event_id is the event id; by their names these could be it, too: id.",
                          "aggregate_id is the aggregate id; by their names these could be it, "
                          "too: entity_id."));
  EXPECT_THAT(mapping.unpublished, ElementsAre("id", "entity_id"));
}

TEST(TableMappingTest, DocumentIsThePayloadBeforeText) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kUuidOid), TextColumn("message"), Column("document", kJsonbOid)}));
  EXPECT_EQ(mapping.payload.column, "document");
}

TEST(TableMappingTest, OnlyDocumentIsThePayloadWhateverItsName) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kUuidOid), Column("ereignis", kJsonbOid)}));
  EXPECT_EQ(mapping.payload.column, "ereignis");
  EXPECT_THAT(mapping.payload.reason, HasSubstr("the only column of type"));
}

TEST(TableMappingTest, TwoDocumentsWithUnknownNamesAreNotGuessed) {
  ExpectUnsuitable(Table({Column("id", kUuidOid), Column("a", kJsonbOid), Column("b", kJsonbOid)}),
                   "no column holds the event itself");
}

TEST(TableMappingTest, LargeObjectIsNoPayload) {
  ExpectUnsuitable(Table({Column("id", kUuidOid), Column("payload", kOidOid)}), "large object");
}

// A flag "event" or a time "message" is not the event.
TEST(TableMappingTest, NamesOfOtherTypesAreNotUsed) {
  const TableMapping mapping = Mapped(Table({Column("id", kUuidOid), Column("data", kTimestampOid),
                                             Column("type", kBoolOid), Column("body", kTextOid)}));
  EXPECT_EQ(mapping.payload.column, "body");
  EXPECT_EQ(mapping.event_type.column, "");
}

TEST(TableMappingTest, MarkAndTimeAreRecognizedAndNotPublished) {
  TableDescription table = DefaultTable();
  table.columns.push_back(Column("occurred_at", kTimestamptzOid));
  table.columns.push_back(Column("published_at", kTimestamptzOid, false));
  const TableMapping mapping = Mapped(table);
  ASSERT_TRUE(mapping.time && mapping.mark);
  EXPECT_EQ(mapping.time->column, "occurred_at");
  EXPECT_EQ(mapping.mark->column, "published_at");
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("Stop that process")));
  EXPECT_THAT(mapping.unpublished, ElementsAre("occurred_at", "published_at"));
}

TEST(TableMappingTest, TimeWithoutZoneSaysThatItCountsAsUtc) {
  TableDescription table = DefaultTable();
  table.columns.push_back(Column("created_at", kTimestampOid));
  EXPECT_THAT(Mapped(table).time->reason, HasSubstr("UTC"));
}

TEST(TableMappingTest, HeadersAreThoseOfMetadataOnly) {
  TableDescription table = DefaultTable();
  table.columns.push_back(Column("metadata", kJsonbOid));
  table.columns.push_back(TextColumn("customer_email"));
  const TableMapping mapping = Mapped(table);
  EXPECT_THAT(mapping.headers, ElementsAre("metadata"));
  EXPECT_THAT(mapping.unpublished, ElementsAre("customer_email"));
}

TEST(TableMappingTest, EncodedPayloadsAreADecision) {
  TableDescription table = DefaultTable();
  table.columns.push_back(Column("is_encrypted", kBoolOid));
  const TableMapping mapping = Mapped(table);
  EXPECT_THAT(mapping.headers, ElementsAre("is_encrypted"));
  EXPECT_THAT(mapping.decisions, ElementsAre(HasSubstr("consumers must decode them")));
}

TEST(TableMappingTest, KnownTablesSayWhatTheyAre) {
  const TableMapping mapping =
      Mapped(Table({Column("id", kUuidOid), TextColumn("listener_id"), TextColumn("event_type"),
                    TextColumn("serialized_event"), Column("publication_date", kTimestamptzOid)}));
  EXPECT_THAT(mapping.decisions, Contains(HasSubstr("one row per event and listener")));
  EXPECT_THAT(mapping.unpublished, Contains("listener_id"));
}

// Earlier versions of MassTransit have no column MessageType.
TEST(TableMappingTest, KnownTablesOfEarlierVersionsAreRecognized) {
  const TableMapping mapping = Mapped(
      Table({Column("SequenceNumber", kInt8Oid), Column("EnqueueTime", kTimestamptzOid, false),
             Column("OutboxId", kUuidOid, false), Column("MessageId", kUuidOid),
             TextColumn("ContentType"), TextColumn("Body")}));
  EXPECT_THAT(mapping.decisions, Contains(HasSubstr("MassTransit's delivery service")));
}

TEST(TableMappingTest, OtherRelationsAreRefused) {
  TableDescription table = DefaultTable();
  table.kind = TableDescription::Kind::kOther;
  ExpectUnsuitable(table, "not a table");
  table.kind = TableDescription::Kind::kPartition;
  table.root = "public.root";
  ExpectUnsuitable(table, "name the partitioned table, public.root");
  table.kind = TableDescription::Kind::kTable;
  table.unlogged = true;
  EXPECT_TRUE(HasCode(MapTable(table).status(), ErrorCode::kTableUnlogged));
}

TEST(TableMappingTest, HostileNamesAreEscapedInMessages) {
  TableDescription table =
      Table({Column("id", kUuidOid), Column("a", kJsonbOid), Column("b", kJsonbOid)});
  table.name = "x\ny";
  EXPECT_THAT(MessageOf(MapTable(table).status()), Not(HasSubstr("\n")));
}

TEST(TableMappingTest, TableWithoutColumnsIsRefused) {
  ExpectUnsuitable(Table({}), "no column holds the event itself");
}

}  // namespace
}  // namespace walrelay

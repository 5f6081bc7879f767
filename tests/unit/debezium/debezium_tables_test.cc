#include "debezium/debezium_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTopicNameMatches =
    "org.apache.kafka.connect.transforms.predicates.TopicNameMatches";

class DebeziumTablesTest : public ::testing::Test {
 protected:
  DebeziumTables Tables() const { return {connector_, router_, messages_}; }
  PropertyResult Result(std::string_view name) const {
    const auto result = Tables().ResultOf(name);
    EXPECT_TRUE(result.has_value()) << name;
    return result.value_or(Refused("absent"));
  }
  void SetPredicate(const std::string& pattern, bool negate = false) {
    connector_["transforms.outbox.predicate"] = "p";
    connector_["transforms.outbox.negate"] = negate ? "true" : "false";
    connector_["predicates"] = "p";
    connector_["predicates.p.type"] = kTopicNameMatches;
    connector_["predicates.p.pattern"] = pattern;
  }
  void ExpectPredicate(PropertyOutcome outcome, const std::string& pattern, bool negate = false) {
    SetPredicate(pattern, negate);
    EXPECT_EQ(Result("transforms.outbox.predicate").outcome, outcome) << pattern;
  }

  DebeziumOptions connector_{{"topic.prefix", "shop"}, {"table.include.list", "public.outbox"}};
  std::string router_ = "transforms.outbox.";
  bool messages_ = false;
};

TEST_F(DebeziumTablesTest, ListNamesTheTables) {
  connector_["table.include.list"] = " public\\.outbox , sales.outbox ";
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox", "sales.outbox"));
  EXPECT_EQ(Result("table.include.list").setting, "[[source.tables]]");
}

TEST_F(DebeziumTablesTest, PatternNamesNoTable) {
  for (const char* list : {"public.outbox.*", "outbox", "", "public.a,public.(b|c)"}) {
    connector_["table.include.list"] = list;
    EXPECT_THAT(Tables().tables(), IsEmpty()) << list;
    EXPECT_EQ(Result("table.include.list").outcome, PropertyOutcome::kRefused) << list;
  }
}

TEST_F(DebeziumTablesTest, ListHasAnotherNameBeforeDebezium1Dot3) {
  connector_ = {{"table.whitelist", "public.outbox"}};
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox"));
  EXPECT_EQ(Result("table.whitelist").setting, "source.table");
}

TEST_F(DebeziumTablesTest, SchemasMustIncludeTheTable) {
  connector_["table.include.list"] = "public.outbox,Sales.outbox,archive.outbox";
  connector_["schema.include.list"] = "public, sales";
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox", "Sales.outbox"));
  EXPECT_EQ(Result("schema.include.list").outcome, PropertyOutcome::kEquivalent);
  EXPECT_THAT(Result("table.include.list").note, HasSubstr("archive.outbox is not published"));
  connector_["schema.include.list"] = "none";
  EXPECT_EQ(Result("table.include.list").outcome, PropertyOutcome::kRefused);
  connector_["schema.include.list"] = "(?!x).*";
  EXPECT_EQ(Result("schema.include.list").outcome, PropertyOutcome::kRefused);
}

TEST_F(DebeziumTablesTest, ExclusionsCountOnlyWithoutInclusions) {
  connector_["table.include.list"] = "public.outbox,archive.outbox";
  connector_["table.exclude.list"] = "public.outbox";
  connector_["schema.exclude.list"] = "arch.*";
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox"));
  connector_["schema.include.list"] = "public,archive";
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox", "archive.outbox"));
}

TEST_F(DebeziumTablesTest, SchemasAloneNameNoTable) {
  connector_ = {{"schema.include.list", "public"}};
  EXPECT_THAT(Tables().tables(), IsEmpty());
  EXPECT_EQ(Result("schema.include.list").setting, "source.table");
}

TEST_F(DebeziumTablesTest, TablesOfTheConnectorItselfAreNoOutboxes) {
  connector_["table.include.list"] = "public.outbox,public.beat,public.signal";
  connector_["heartbeat.action.query"] = "UPDATE public.BEAT SET ts = now()";
  connector_["signal.data.collection"] = "public.signal";
  EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox"));
  for (const char* query :
       {"INSERT INTO heartbeats DEFAULT VALUES", "INSERT INTO beat (aggregatetype) VALUES ('x')",
        "DELETE FROM outbox; UPDATE beat SET ts = now()"}) {
    connector_["heartbeat.action.query"] = query;
    EXPECT_THAT(Tables().tables(), ElementsAre("public.outbox", "public.beat")) << query;
  }
}

TEST_F(DebeziumTablesTest, PredicateThatHoldsForAllTablesIsEquivalent) {
  ExpectPredicate(PropertyOutcome::kEquivalent, "shop.public.outbox");
  ExpectPredicate(PropertyOutcome::kEquivalent, ".*outbox.*");
  ExpectPredicate(PropertyOutcome::kEquivalent, "__debezium-heartbeat.*", /*negate=*/true);
  EXPECT_EQ(Result("predicates.p.pattern").outcome, PropertyOutcome::kEquivalent);
  EXPECT_EQ(Result("transforms.outbox.negate").outcome, PropertyOutcome::kEquivalent);
}

TEST_F(DebeziumTablesTest, OtherPredicatesAreRefused) {
  ExpectPredicate(PropertyOutcome::kRefused, "outbox");  // matches the whole topic
  ExpectPredicate(PropertyOutcome::kRefused, ".*outbox.*", /*negate=*/true);
  ExpectPredicate(PropertyOutcome::kRefused, "(?=shop).*");
  connector_["predicates.p.type"] = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey";
  EXPECT_EQ(Result("transforms.outbox.predicate").outcome, PropertyOutcome::kRefused);
}

TEST_F(DebeziumTablesTest, PredicateMustHoldForEachTableAndForMessages) {
  connector_["table.include.list"] = "public.outbox,public.orders";
  ExpectPredicate(PropertyOutcome::kRefused, ".*outbox");
  ExpectPredicate(PropertyOutcome::kEquivalent, "shop\\.public\\..*");
  messages_ = true;
  ExpectPredicate(PropertyOutcome::kRefused, "shop\\.public\\..*");
  ExpectPredicate(PropertyOutcome::kEquivalent, "shop\\..*");
}

TEST_F(DebeziumTablesTest, TopicMustBeKnown) {
  connector_["topic.prefix"] = "${env:PREFIX}";
  ExpectPredicate(PropertyOutcome::kRefused, ".*");
  connector_["topic.prefix"] = "sh op";
  connector_["topic.delimiter"] = "_";
  ExpectPredicate(PropertyOutcome::kEquivalent, "sh_op_public_outbox");
  connector_["topic.naming.strategy"] = "org.x.Strategy";
  ExpectPredicate(PropertyOutcome::kRefused, ".*");
}

TEST_F(DebeziumTablesTest, RowIsNoTombstone) {
  SetPredicate("", /*negate=*/true);
  connector_["predicates.p.type"] =
      "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone";
  EXPECT_EQ(Result("transforms.outbox.predicate").outcome, PropertyOutcome::kEquivalent);
}

TEST_F(DebeziumTablesTest, PredicateOfNoRouterIsWithoutMeaning) {
  connector_["predicates"] = "other";
  connector_["predicates.other.type"] = "org.x.Predicate";
  EXPECT_EQ(Result("predicates.other.type").outcome, PropertyOutcome::kMeaningless);
}

}  // namespace
}  // namespace walrelay

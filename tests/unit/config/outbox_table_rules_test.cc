#include "config/outbox_table_rules.h"

#include "fakes/config_validation.h"

namespace walrelay {
namespace {

using OutboxTableRulesTest = ConfigValidation;

TEST_F(OutboxTableRulesTest, ColumnsOfTheRecordAreRequired) {
  for (auto column :
       {&ColumnMapping::aggregate_type, &ColumnMapping::aggregate_id, &ColumnMapping::payload}) {
    table().columns = {};
    table().columns.*column = "";
    ExpectWrong("public.outbox requires this column");
  }
  table().columns = {.id = "", .event_type = "", .trace_id = ""};
  ExpectValid();
}

TEST_F(OutboxTableRulesTest, OnlyOneColumnCanBeThePartition) {
  const Placement partition{.column = "a", .where = Placement::Where::kPartition, .name = ""};
  table().placements = {partition, {.column = "b", .name = "b"}};
  ExpectValid();
  table().placements.push_back(partition);
  ExpectWrong("only one column can be the partition");
}

TEST_F(OutboxTableRulesTest, ColumnHasOneTransform) {
  table().transforms = {{.column = "a", .length = 1}, {.column = "b", .length = 1}};
  ExpectValid();
  table().transforms.push_back({.column = "a", .kind = ColumnTransform::Kind::kMask});
  ExpectWrong("column \"a\" has two transforms");
  table().transforms.back().column = ColumnNames(std::vector<std::string>{"c", "b"});
  ExpectWrong("column \"b\" has two transforms");
}

TEST_F(OutboxTableRulesTest, MaskHasALimit) {
  table().transforms = {{.column = "a", .kind = ColumnTransform::Kind::kMask, .length = 1'000'000}};
  ExpectValid();
  table().transforms[0].length = 1'000'001;
  ExpectWrong("at most 1000000 for a mask");
}

TEST_F(OutboxTableRulesTest, DuplicateTablesAreRefused) {
  config_.source.tables = {
      {.schema = "a", .name = "t"}, {.schema = "b", .name = "t"}, {.schema = "a", .name = "u"}};
  ExpectValid();
  config_.source.tables.push_back({.schema = "b", .name = "t"});
  ExpectWrong("table b.t is named twice");
}

TEST_F(OutboxTableRulesTest, EveryTableIsChecked) {
  config_.source.tables.push_back({.schema = "b", .name = "t", .columns = {.payload = ""}});
  ExpectWrong("b.t requires this column");
}

}  // namespace
}  // namespace walrelay

#include "outbox/mapping_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "config/loader.h"
#include "table_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class MappingTomlTest : public ::testing::Test {
 protected:
  MappingTomlTest() { config_.source.dsn = "host=/run/postgresql dbname=shop"; }

  std::string Toml() {
    const auto mapping = MapTable(table_);
    EXPECT_TRUE(mapping.ok()) << mapping.status();
    return MappingToml(table_, *mapping, config_.source, config_.kafka);
  }
  // What the loader reads from it, without an error.
  Config Read() {
    const std::string toml = Toml();
    const auto loaded = LoadConfig(ConfigInput{.file_name = "walrelay.toml", .file_text = toml});
    EXPECT_TRUE(loaded.ok()) << loaded.status() << "\n" << toml;
    return loaded.ok() ? loaded->config : Config();
  }

  TableDescription table_ = DefaultTable();
  Config config_;
};

TEST_F(MappingTomlTest, LoaderReadsWhatTheMappingSays) {
  table_.schema = "Shop";
  table_.name = "my.events";
  table_.columns.push_back(TextColumn("correlation_id"));
  const Config config = Read();
  const OutboxTable& table = config.source.tables.front();
  EXPECT_EQ(table.schema, "Shop");
  EXPECT_EQ(table.name, "my.events");
  EXPECT_EQ(table.columns.aggregate_id, "aggregate_id");
  EXPECT_EQ(table.columns.payload, "payload");
  ASSERT_THAT(table.placements, SizeIs(1));
  EXPECT_EQ(table.placements.front().column, "correlation_id");
  EXPECT_EQ(table.placements.front().name, "correlation_id");
  EXPECT_EQ(config.route.topic, "outbox.event.${routedByValue}");
  EXPECT_EQ(config.source.dsn, "host=/run/postgresql dbname=shop");
}

TEST_F(MappingTomlTest, MissingPartsAreExplicitlyNone) {
  // The default would be the column "type".
  table_ = Table({Column("id", pgoutput::kUuidOid), Column("type", pgoutput::kBoolOid),
                  Column("payload", pgoutput::kJsonbOid)});
  EXPECT_EQ(Read().source.tables.front().columns.event_type, "");
}

TEST_F(MappingTomlTest, NamesCannotLeaveTheirLine) {
  table_.name = "x\n[route]\ntopic = \"evil\"";
  table_.columns.push_back(TextColumn("y\n[source]\nslot = \"evil\""));
  table_.publications = {"p\n[kafka]"};
  table_.partition_key = "RANGE (\"z\n\")";
  const Config config = Read();
  EXPECT_EQ(config.source.tables.front().name, table_.name);
  EXPECT_EQ(config.source.slot, "walrelay");
}

TEST_F(MappingTomlTest, PasswordsAreMasked) {
  config_.source.dsn = "postgresql://app:secret@db/shop?sslmode=verify-full";
  EXPECT_THAT(Toml(), Not(HasSubstr("secret")));
  EXPECT_THAT(Toml(), HasSubstr("app:***@db"));
}

TEST_F(MappingTomlTest, BrokersAreAPlaceholderUnlessGiven) {
  EXPECT_THAT(Toml(), HasSubstr("bootstrap_servers = \"localhost:9092\"  # your brokers"));
  config_.kafka.bootstrap_servers = "a:1,b:2";
  EXPECT_EQ(Read().kafka.bootstrap_servers, "a:1,b:2");
}

TEST_F(MappingTomlTest, CommentsFitALine) {
  table_.columns.push_back(Column("created_at", pgoutput::kTimestampOid));
  table_.columns.push_back(Column("processed", pgoutput::kBoolOid));
  std::istringstream lines(Toml());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ") && line.find(" = ") == std::string::npos) {
      EXPECT_LE(line.size(), 102u) << line;
    }
  }
}

TEST_F(MappingTomlTest, PruningIsOfferedAndNotSwitchedOn) {
  EXPECT_THAT(Toml(), HasSubstr("\n# No column has the time of a row"));
  table_.columns.push_back(Column("created_at", pgoutput::kTimestamptzOid));
  EXPECT_THAT(Toml(),
              HasSubstr("\n# [prune]\n# mode = \"delete\"\n# time_column = \"created_at\""));
  table_.columns.push_back(Column("processed", pgoutput::kBoolOid));
  EXPECT_THAT(Toml(), HasSubstr("\n# [prune]\n# mode = \"mark\"\n"));
  EXPECT_THAT(Toml(), HasSubstr("\n# mark_column = \"processed\""));
}

// Spring Modulith repeats what has no completion date, and an event store is never pruned.
TEST_F(MappingTomlTest, PruningIsNotOfferedWhereALibraryNeedsTheRows) {
  table_ =
      Table({Column("id", pgoutput::kUuidOid), TextColumn("listener_id"), TextColumn("event_type"),
             TextColumn("serialized_event"), Column("publication_date", pgoutput::kTimestamptzOid),
             Column("completion_date", pgoutput::kTimestamptzOid, false)});
  EXPECT_THAT(Toml(),
              HasSubstr("Spring Modulith needs the rows of this table: leave [prune] off."));
  EXPECT_THAT(Toml(), Not(HasSubstr("mark_column")));
}

TEST_F(MappingTomlTest, TimeIsOfferedAsTimestampAndNotUsed) {
  table_.columns.push_back(Column("created_at", pgoutput::kTimestamptzOid));
  EXPECT_THAT(Toml(), HasSubstr("\n# timestamp = \"column:created_at\""));
  EXPECT_EQ(Read().route.timestamp, TimestampSource::kCommit);
}

}  // namespace
}  // namespace walrelay

#include "pgoutput/relation_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "pgoutput/type_oids.h"

namespace walrelay::pgoutput {
namespace {

Relation Outbox(const std::vector<Column>& columns) {
  return {
      .oid = 7, .schema = "public", .name = "outbox", .replica_identity = 'd', .columns = columns};
}

TEST(RelationCacheTest, UnknownTableIsNotFound) {
  EXPECT_EQ(RelationCache().Find(7), nullptr);
}

TEST(RelationCacheTest, LastRelationMessageApplies) {
  RelationCache cache;
  cache.Replace(Outbox({{"id", 2950}, {"payload", 3802}}));
  cache.Replace(Outbox({{"id", 2950}, {"tenant", 25}, {"payload", 17}}));
  ASSERT_NE(cache.Find(7), nullptr);
  ASSERT_EQ(cache.Find(7)->columns.size(), 3u);
  EXPECT_EQ(cache.Find(7)->columns[2].type_oid, 17u);
}

TEST(RelationCacheTest, CacheOwnsItsNames) {
  RelationCache cache;
  {
    std::string name = "outbox with a name that does not fit into a small string";
    cache.Replace(
        {.oid = 7, .schema = "public", .name = name, .replica_identity = 'd', .columns = {}});
    name.assign(name.size(), 'x');
  }
  EXPECT_EQ(cache.Find(7)->name, "outbox with a name that does not fit into a small string");
}

TEST(RelationCacheTest, ClearRemovesTables) {
  RelationCache cache;
  cache.Replace(Outbox({}));
  cache.Clear();
  EXPECT_EQ(cache.Find(7), nullptr);
}

class DomainTest : public ::testing::Test {
 protected:
  // The cached type of a column with type `oid`.
  uint32_t Shown(uint32_t oid) {
    const std::vector<Column> columns = {{"payload", oid}};
    return cache_.Replace(Outbox(columns)).columns[0].type_oid;
  }

  RelationCache cache_;
};

TEST_F(DomainTest, DomainColumnHasItsBaseType) {
  cache_.OnType({.oid = 16390, .schema = "pg_catalog", .name = "bytea"});
  EXPECT_EQ(Shown(16390), kByteaOid);
  EXPECT_EQ(Shown(16391), 16391u);
}

TEST_F(DomainTest, EnumNamedLikeABuiltInTypeKeepsItsOid) {
  cache_.OnType({.oid = 16390, .schema = "public", .name = "bytea"});
  EXPECT_EQ(Shown(16390), 16390u);
}

TEST_F(DomainTest, DomainOverAnUnsupportedTypeKeepsItsOid) {
  cache_.OnType({.oid = 16390, .schema = "pg_catalog", .name = "money"});
  EXPECT_EQ(Shown(16390), 16390u);
}

TEST_F(DomainTest, LastTypeMessageApplies) {
  cache_.OnType({.oid = 16390, .schema = "pg_catalog", .name = "bytea"});
  cache_.OnType({.oid = 16390, .schema = "public", .name = "mood"});
  EXPECT_EQ(Shown(16390), 16390u);
}

TEST(RelationCacheTest, ForgottenTableIsStillDescribed) {
  RelationCache cache;
  const Column columns[] = {{.name = "a", .type_oid = 25}};
  const Relation table{.oid = 7, .schema = "s", .name = "t", .columns = columns};
  EXPECT_FALSE(cache.IsDescribed(7));
  cache.Replace(table);
  cache.Forget(7);
  EXPECT_EQ(cache.Find(7), nullptr);
  EXPECT_TRUE(cache.IsDescribed(7));
  EXPECT_EQ(cache.others(), 1u);
  cache.Replace(table);
  EXPECT_EQ(cache.Find(7)->columns.size(), 1u);
  EXPECT_EQ(cache.others(), 0u);
  cache.Forget(7);
  cache.Clear();
  EXPECT_FALSE(cache.IsDescribed(7));
}

TEST_F(DomainTest, ClearRemovesDomains) {
  cache_.OnType({.oid = 16390, .schema = "pg_catalog", .name = "bytea"});
  cache_.Clear();
  EXPECT_EQ(Shown(16390), 16390u);
}

}  // namespace
}  // namespace walrelay::pgoutput

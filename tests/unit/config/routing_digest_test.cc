#include "config/routing_digest.h"

#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

class RoutingDigestTest : public ::testing::Test {
 protected:
  // Whether a configuration changed in this way routes like the default one.
  template <typename Change>
  static bool Same(Change change) {
    Config config;
    change(config);
    return RoutingDigest(config) == RoutingDigest(Config());
  }
};

TEST_F(RoutingDigestTest, SettingsThatDetermineRecords) {
  EXPECT_FALSE(Same([](Config& c) { c.source.publication = "other"; }));
  EXPECT_FALSE(Same([](Config& c) { c.source.message_prefixes = {"a"}; }));
  EXPECT_FALSE(Same([](Config& c) { c.source.tables.front().name = "other"; }));
  EXPECT_FALSE(Same([](Config& c) { c.source.tables.emplace_back(); }));
  EXPECT_FALSE(Same([](Config& c) { c.source.tables.front().columns.aggregate_id = "key"; }));
  EXPECT_FALSE(Same([](Config& c) {
    c.source.tables.front().placements = {{.column = "p", .where = Placement::Where::kPartition}};
  }));
  EXPECT_FALSE(Same([](Config& c) { c.route.topic = "other"; }));
  EXPECT_FALSE(Same([](Config& c) { c.format.key.format = Format::kJson; }));
  EXPECT_FALSE(Same([](Config& c) { c.on_error.too_large = OnError::kSkip; }));
  EXPECT_FALSE(Same([](Config& c) { c.kafka.max_record_bytes = 5'000; }));
}

TEST_F(RoutingDigestTest, TheSaltOfAKey) {
  const auto salted = [](const char* salt) {
    return [salt](Config& config) {
      config.source.tables.front().transforms = {
          {.column = "aggregate_id", .kind = ColumnTransform::Kind::kHash, .salt = Secret(salt)}};
    };
  };
  Config one;
  salted("one")(one);
  Config other;
  salted("other")(other);
  EXPECT_NE(RoutingDigest(one), RoutingDigest(other));
}

TEST_F(RoutingDigestTest, OtherSettings) {
  EXPECT_TRUE(Same([](Config&) {}));
  EXPECT_TRUE(Same([](Config& c) { c.source.dsn = "host=other"; }));
  EXPECT_TRUE(Same([](Config& c) { c.source.password = Secret("other"); }));
  EXPECT_TRUE(Same([](Config& c) { c.kafka.bootstrap_servers = "other:9092"; }));
  EXPECT_TRUE(Same([](Config& c) { c.log.level = LogLevel::kDebug; }));
}

}  // namespace
}  // namespace walrelay

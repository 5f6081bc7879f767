#include "postgres/source_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fakes/status_matchers.h"
#include "postgres_environment.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class IdentityTest : public PostgresEnvironment {
 protected:
  std::string SourceOf(const std::string& dsn) {
    source_.dsn = dsn;
    return IdentityOf(source_).source;
  }
  // The name of this machine, which replaces a local address.
  static std::string ThisMachine() {
    char name[256] = {};
    EXPECT_EQ(gethostname(name, sizeof(name) - 1), 0);
    return name;
  }
};

TEST_F(IdentityTest, HostAndDatabaseNameTheSource) {
  EXPECT_EQ(SourceOf("postgresql://relay:s3cret@db.example:5432/shop"), "db.example/shop");
  EXPECT_EQ(SourceOf("host=db port=5433 dbname=shop user=relay password=s3cret"), "db:5433/shop");
  EXPECT_EQ(SourceOf("host=db hostaddr=10.0.0.1 dbname=shop"), "db/shop");
  EXPECT_EQ(SourceOf("hostaddr=10.0.0.1 dbname=shop"), "10.0.0.1/shop");
  EXPECT_EQ(SourceOf("postgresql://[2001:db8::1]:5433/shop"), "[2001:db8::1]:5433/shop");
  source_.slot = "orders";
  EXPECT_EQ(IdentityOf(source_).slot, "orders");
}

TEST_F(IdentityTest, ConfiguredNameTakesPrecedence) {
  source_.name = "orders-db";
  EXPECT_EQ(SourceOf("host=db dbname=shop"), "orders-db");
}

// Each instance has the same list, so that all have the same name.
TEST_F(IdentityTest, FirstHostNamesTheCluster) {
  EXPECT_EQ(SourceOf("postgresql://a:5433,b:5434/shop"), "a:5433/shop");
  EXPECT_EQ(SourceOf("host=a,b port=5432 dbname=shop"), "a/shop");
}

TEST_F(IdentityTest, LocalServerIsNamedAfterThisMachine) {
  for (const char* dsn : {"dbname=shop", "host=/run/postgresql dbname=shop",
                          "host=localhost dbname=shop", "postgresql://127.0.0.1/shop"}) {
    EXPECT_EQ(SourceOf(dsn), ThisMachine() + "/shop") << dsn;
  }
  EXPECT_EQ(SourceOf("port=5433 dbname=shop"), ThisMachine() + ":5433/shop");
}

TEST_F(IdentityTest, EnvironmentAndServiceCount) {
  EXPECT_EQ(SourceOf("service=orders"), "orders");
  EXPECT_EQ(SourceOf("service=orders dbname=shop"), "orders/shop");
  SetVariable("PGHOST", "elsewhere");
  SetVariable("PGPORT", "5433");
  SetVariable("PGDATABASE", "shop");
  EXPECT_EQ(SourceOf(""), "elsewhere:5433/shop");
}

TEST_F(IdentityTest, DatabaseWithoutNameIsCalledLikeTheUser) {
  EXPECT_EQ(SourceOf("host=db user=relay"), "db/relay");
  EXPECT_EQ(SourceOf("host=db"), "db/" + OsUser());
}

TEST_F(IdentityTest, NameMustBeSuitableForALabel) {
  for (const char* dsn :
       {"host=db dbname='my shop'", "host=db dbname=a@b", "host=db dbname=caf\xC3\xA9"}) {
    source_.dsn = dsn;
    EXPECT_THAT(CheckSourceName(source_), HasError(ErrorCode::kConfigValue)) << dsn;
  }
  source_.name = "shop";
  EXPECT_THAT(CheckSourceName(source_), IsOk());
  source_.name.clear();
  source_.dsn = "postgresql://[2001:db8::1]:5433/shop_1.x-y";
  EXPECT_THAT(CheckSourceName(source_), IsOk());
}

TEST_F(IdentityTest, InvalidDsnHasNoName) {
  EXPECT_EQ(SourceOf("postgresql://relay:s3cret@[db/shop"), "?");
}

}  // namespace
}  // namespace walrelay

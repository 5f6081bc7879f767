#include "postgres/dsn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "postgres_environment.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class DescribeDsnTest : public PostgresEnvironment {
 protected:
  std::string Describe(const std::string& dsn) {
    source_.dsn = dsn;
    return DescribeDsn(source_);
  }
};

TEST_F(DescribeDsnTest, DescriptionHasHostDatabaseAndUser) {
  EXPECT_EQ(Describe("postgresql://relay@db:5433/shop"), "db:5433/shop as relay");
  EXPECT_EQ(Describe("host=db user=relay"), "db/relay as relay");
  EXPECT_EQ(Describe("dbname=shop"), "local socket/shop as " + OsUser());
  SetVariable("PGHOST", "elsewhere");
  EXPECT_EQ(Describe("dbname=shop"), "elsewhere/shop as " + OsUser());
  SetService("host=db\nport=5433\nuser=relay");
  EXPECT_EQ(Describe("service=shop dbname=shop"), "db:5433/shop as relay");
}

// By it, a command of root finds the relay of another user.
TEST_F(DescribeDsnTest, DescriptionOfTheDsnAloneIsTheSameForEveryUser) {
  SetVariable("PGHOST", "elsewhere");
  SetVariable("PGUSER", "mine");
  source_.dsn = "dbname=shop";
  EXPECT_EQ(DescribeDsnAlone(source_), "local socket/shop");
  source_.dsn = "postgresql://relay@db:5433/shop";
  EXPECT_EQ(DescribeDsnAlone(source_), "db:5433/shop as relay");
}

TEST_F(DescribeDsnTest, AddressIsCompletedByLibpq) {
  const auto address = [&](const std::string& dsn) {
    source_.dsn = dsn;
    const auto found = DatabaseAddressOf(source_);
    return found.ok() ? found->server + "/" + found->database : MessageOf(found.status());
  };
  EXPECT_EQ(address("postgresql://relay@db/shop"), "db:5432/shop");
  EXPECT_EQ(address("host=a,b port=1,2 user=relay"), "a,b:1,2/relay");
  SetVariable("PGHOST", "elsewhere");
  SetVariable("PGDATABASE", "mart");
  EXPECT_EQ(address("user=relay"), "elsewhere:5432/mart");
  EXPECT_THAT(address("host=db service=none"), ::testing::HasSubstr("source.dsn: "));
}

TEST_F(DescribeDsnTest, DescriptionNeverShowsThePassword) {
  source_.password = Secret("s3cret");
  for (const char* dsn : {"postgresql://relay:s3cret@db/shop", "host=db password=s3cret",
                          "postgresql://db/shop?password=s3cret", "host=db sslpassword=s3cret"}) {
    EXPECT_EQ(Describe(dsn).find("s3cret"), std::string::npos) << dsn;
  }
}

}  // namespace
}  // namespace walrelay

#include "setup/setup_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SetupScriptTest : public ::testing::Test {
 protected:
  std::string Script() const { return SetupScript(source_, options_); }
  // The position of a statement, which must be in the script.
  size_t At(const std::string& statement) const {
    const size_t at = Script().find("\n" + statement);
    EXPECT_NE(at, std::string::npos) << statement << "\n" << Script();
    return at;
  }

  SourceConfig source_;
  SetupOptions options_;
};

// A slot that is older than its publication skips rows on Postgres 18.
TEST_F(SetupScriptTest, PublicationComesBeforeTheSlot) {
  EXPECT_LT(At("CREATE TABLE \"public\".\"outbox\" ("), At("CREATE PUBLICATION \"walrelay\""));
  EXPECT_LT(At("CREATE PUBLICATION \"walrelay\""),
            At("SELECT pg_catalog.pg_create_logical_replication_slot('walrelay', 'pgoutput');"));
}

TEST_F(SetupScriptTest, PublicationHasInsertsOfEveryTableOnly) {
  source_.tables = {{.schema = "shop", .name = "outbox"}, {.schema = "crm", .name = "Events"}};
  EXPECT_THAT(Script(), HasSubstr("FOR TABLE \"shop\".\"outbox\", \"crm\".\"Events\" "
                                  "WITH (publish = 'insert', "
                                  "publish_via_partition_root = true);"));
  At("CREATE TABLE \"crm\".\"Events\" (");
}

TEST_F(SetupScriptTest, NamesAreQuoted) {
  source_.publication = R"(a"; DROP TABLE x; --)";
  source_.tables = {{.schema = "s\"", .name = "t'"}};
  EXPECT_THAT(Script(), HasSubstr(R"(CREATE PUBLICATION "a""; DROP TABLE x; --" FOR)"));
  EXPECT_THAT(Script(), HasSubstr(R"("s"""."t'")"));
}

TEST_F(SetupScriptTest, SchemaIsCreatedAndGrantedOnce) {
  source_.tables = {{.schema = "shop", .name = "a"}, {.schema = "shop", .name = "b"}};
  const std::string script = Script();
  for (const char* statement : {"CREATE SCHEMA IF NOT EXISTS \"shop\";", "GRANT USAGE ON SCHEMA"}) {
    EXPECT_NE(script.find(statement), std::string::npos) << statement;
    EXPECT_EQ(script.find(statement), script.rfind(statement)) << statement;
  }
}

TEST_F(SetupScriptTest, RoleMayReadTheTablesAndNothingMore) {
  options_.role = "relay";
  source_.tables = {{.schema = "shop", .name = "a"}, {.name = ""}};
  At("    CREATE ROLE \"relay\" LOGIN CONNECTION LIMIT 8;");
  At("ALTER ROLE \"relay\" REPLICATION;");
  const std::string script = Script();
  At("GRANT SELECT ON \"shop\".\"a\" TO \"relay\";");
  EXPECT_EQ(script.find("GRANT SELECT"), script.rfind("GRANT SELECT"));
  EXPECT_THAT(Script(), Not(HasSubstr("SUPERUSER")));
}

// A role belongs to all databases of a server.
TEST_F(SetupScriptTest, RoleIsCreatedUnlessItExists) {
  options_.role = "a$role$b'c";
  EXPECT_LT(At("DO $_role$ BEGIN"), At("                 WHERE rolname OPERATOR(pg_catalog.=) "
                                       "'a$role$b''c') THEN"));
  EXPECT_LT(At("    CREATE ROLE \"a$role$b'c\" LOGIN"), At("END $_role$;"));
}

TEST_F(SetupScriptTest, NamesAreInUtf8WhateverTheDatabaseIs) {
  EXPECT_LT(At("SET client_encoding = 'UTF8';"), At("CREATE TABLE"));
}

TEST_F(SetupScriptTest, UpdatesArePublishedIfTheyBlock) {
  source_.on_update = OnUpdate::kFail;
  EXPECT_THAT(Script(), HasSubstr("publish = 'insert, update'"));
}

TEST_F(SetupScriptTest, RoleMayConnectWhereOthersMayNot) {
  options_.role = "relay";
  EXPECT_THAT(Script(), HasSubstr("DO $$BEGIN EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE"
                                  " %I TO %I', pg_catalog.current_database(), 'relay'); END$$;"));
  options_.role = "a$$; $x$b";
  EXPECT_THAT(Script(), HasSubstr("DO $xx$BEGIN"));
}

// Postgres cannot restrict what a role with REPLICATION reads.
TEST_F(SetupScriptTest, ReachOfTheRoleIsStated) {
  EXPECT_THAT(Script(), HasSubstr("all databases, and the password hashes of all roles"));
}

TEST_F(SetupScriptTest, FailoverSlotOnlyIfRequested) {
  EXPECT_THAT(Script(), Not(HasSubstr("failover")));
  options_.failover = true;
  EXPECT_THAT(Script(), HasSubstr("failover => true"));
}

// The script is pasted into psql: a name must not start a new line.
TEST_F(SetupScriptTest, RoleCannotLeaveItsComment) {
  options_.role = "relay\nDROP TABLE x;";
  EXPECT_THAT(Script(), HasSubstr("\\password relay\\x0aDROP"));
  EXPECT_THAT(Script(), HasSubstr("hostssl DATABASE relay\\x0aDROP"));
}

// --- platforms ---

TEST_F(SetupScriptTest, ManagedServicesHaveNoAlterSystemAndNoPgHba) {
  for (const char* name : {"rds", "aurora", "cloud-sql", "azure", "supabase"}) {
    options_.platform = PlatformNamed(name);
    EXPECT_THAT(Script(), Not(HasSubstr("ALTER SYSTEM"))) << name;
    EXPECT_THAT(Script(), Not(HasSubstr("pg_hba"))) << name;
    EXPECT_THAT(Script(), Not(HasSubstr("a superuser"))) << name;
  }
  options_.platform = nullptr;
  EXPECT_THAT(Script(), HasSubstr("ALTER SYSTEM SET wal_level"));
  EXPECT_THAT(Script(), HasSubstr("pg_hba.conf: hostssl"));
}

TEST_F(SetupScriptTest, ReplicationIsGivenAsThePlatformDemands) {
  for (const char* name : {"rds", "aurora"}) {
    options_.platform = PlatformNamed(name);
    At("GRANT rds_replication TO \"walrelay\";");
    EXPECT_THAT(Script(), Not(HasSubstr("\nALTER ROLE \"walrelay\" REPLICATION")));
  }
  for (const char* name : {"cloud-sql", "azure"}) {
    options_.platform = PlatformNamed(name);
    EXPECT_LT(At("ALTER ROLE CURRENT_USER REPLICATION;"),
              At("SELECT pg_catalog.pg_create_logical"));
    At("ALTER ROLE \"walrelay\" REPLICATION;");
  }
}

TEST_F(SetupScriptTest, RoleMayChangeTablesOnlyToPruneThem) {
  EXPECT_THAT(Script(), Not(HasSubstr("GRANT SELECT,")));
  options_.prune.mode = PruneMode::kDelete;
  At("GRANT SELECT, DELETE ON \"public\".\"outbox\" TO \"walrelay\";");
  options_.prune.mode = PruneMode::kMark;
  options_.prune.mark_column = "published_at";
  At("GRANT SELECT, UPDATE (\"published_at\") ON \"public\".\"outbox\" TO \"walrelay\";");
  options_.prune.dsn = "user=pruner";
  EXPECT_THAT(Script(), Not(HasSubstr("GRANT SELECT,")));
}

}  // namespace
}  // namespace walrelay

#include "postgres/pg_error.h"

#include <gtest/gtest.h>

#include <memory>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

TEST(SqlstateTest, IsFoundInAVerboseMessage) {
  EXPECT_EQ(SqlstateIn("FATAL:  28P01: password authentication failed for user \"relay\""),
            "28P01");
  EXPECT_EQ(SqlstateIn("connection to server at \"db\" (10.0.0.1), port 5432 failed: "
                       "FATAL:  57P03: the database system is starting up\n"
                       "LOCATION:  ProcessStartupPacket, postmaster.c:2308\n"),
            "57P03");
}

TEST(SqlstateTest, TranslatedSeverityDoesNotMatter) {
  EXPECT_EQ(SqlstateIn("FEHLER:  3D000: Datenbank \"shop\" existiert nicht"), "3D000");
}

TEST(SqlstateTest, OtherTextIsNotASqlstate) {
  for (const char* message :
       {"", "FATAL:  ", "FATAL:  28P01", "FATAL:  28P0", "FATAL: 28P01: one space",
        "FATAL:  28p01: lower case", "FATAL:  28P012: six", "DETAIL:  There was: none",
        "could not translate host name \"db\" to address: Name or service not known"}) {
    EXPECT_EQ(SqlstateIn(message), "") << message;
  }
}

TEST(ReadableTest, IsOneLineWithoutSqlstateAndLocation) {
  EXPECT_EQ(Readable("FATAL:  28P01: password authentication failed\n"
                     "DETAIL:  Role \"relay\" does not exist.\n"
                     "LOCATION:  auth_failed, auth.c:326\n"),
            "FATAL:  password authentication failed; DETAIL:  Role \"relay\" does not exist.");
  EXPECT_EQ(Readable("connection refused\n\tIs the server running?\n"),
            "connection refused; Is the server running?");
  EXPECT_EQ(Readable(""), "");
  EXPECT_EQ(Readable("\n \n\t\n"), "");
}

TEST(ReadableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Readable("ERROR:  a\r\x1b[2Jb\x07"), "ERROR:  a\\x0d\\x1b[2Jb\\x07");
  EXPECT_EQ(Readable("one\ntwo\nthree"), "one; two; three");
  EXPECT_EQ(Readable("\xFF\xC2\x9B"), "\\xff\\x9b");
}

TEST(ReadableTest, LongMessageIsTruncated) {
  EXPECT_LT(Readable(std::string(100'000, 'x')).size(), 1100u);
}

// --- meanings ---

ErrorCode AtLogin(std::string_view sqlstate, std::string_view function,
                  std::string_view message = "") {
  return MeaningOf(PgPlace::kLogin,
                   {.sqlstate = sqlstate, .function = function, .message = message});
}
ErrorCode InCommand(std::string_view sqlstate, std::string_view function) {
  return MeaningOf(PgPlace::kCommand, {.sqlstate = sqlstate, .function = function, .message = ""});
}

TEST(MeaningTest, OnlyACheckOfReplicationIsAMissingReplicationRole) {
  EXPECT_EQ(AtLogin("42501", "InitPostgres"), ErrorCode::kNoReplicationRole);
  EXPECT_EQ(InCommand("42501", "CheckSlotPermissions"), ErrorCode::kNoReplicationRole);
  EXPECT_EQ(InCommand("42501", "check_permissions"), ErrorCode::kNoReplicationRole);
  EXPECT_EQ(AtLogin("42501", "CheckMyDatabase"), ErrorCode::kPermissionDenied);
  EXPECT_EQ(AtLogin("42501", "aclcheck_error"), ErrorCode::kPermissionDenied);
  EXPECT_EQ(InCommand("42501", "aclcheck_error"), ErrorCode::kPermissionDenied);
  EXPECT_EQ(InCommand("42501", ""), ErrorCode::kPermissionDenied);
}

TEST(MeaningTest, UsedUpSlotsAreNotUsedUpWalsenders) {
  EXPECT_EQ(InCommand("53400", "ReplicationSlotCreate"), ErrorCode::kNoSlotFree);
  EXPECT_EQ(AtLogin("53300", "InitWalSenderSlot"), ErrorCode::kNoSenderFree);
  EXPECT_EQ(InCommand("53400", "PrepareTempTablespaces"), ErrorCode::kPostgresError);
}

TEST(MeaningTest, PoolersAreRecognizedByTheMissingFunction) {
  EXPECT_EQ(AtLogin("08P01", "", "unsupported startup parameter: options"),
            ErrorCode::kPoolerRefused);
  EXPECT_EQ(AtLogin("08P01", "", "unsupported startup parameter: replication"),
            ErrorCode::kNotReplication);
  EXPECT_EQ(AtLogin("08P01", "", "no such database: shop"), ErrorCode::kSessionRefused);
  EXPECT_EQ(AtLogin("08P01", "ProcessStartupPacket"), ErrorCode::kSessionRefused);
  EXPECT_EQ(InCommand("08P01", "exec_replication_command"), ErrorCode::kPostgresError);
}

// A login event trigger may raise anything.
TEST(MeaningTest, UnknownErrorSaysWhereItAroseAndNoMore) {
  EXPECT_EQ(AtLogin("P0001", "exec_stmt_raise"), ErrorCode::kSessionRefused);
  EXPECT_EQ(AtLogin("25006", "PreventCommandIfReadOnly"), ErrorCode::kSessionRefused);
  EXPECT_EQ(AtLogin("55006", ""), ErrorCode::kSessionRefused);
  EXPECT_EQ(InCommand("P0001", "exec_stmt_raise"), ErrorCode::kPostgresError);
  EXPECT_EQ(InCommand("3D000", ""), ErrorCode::kPostgresError);
}

TEST(MeaningTest, StreamLacksThePublicationOnlyIfItWasLookedUp) {
  EXPECT_EQ(MeaningOf(PgPlace::kStream, {"42704", "get_publication_oid", ""}),
            ErrorCode::kPublicationTooNew);
  EXPECT_EQ(MeaningOf(PgPlace::kStream, {"42704", "typenameType", ""}), ErrorCode::kPostgresError);
}

TEST(FunctionTest, IsFoundInAVerboseMessage) {
  EXPECT_EQ(FunctionIn("FATAL:  42501: permission denied for database \"shop\"\n"
                       "DETAIL:  User does not have CONNECT privilege.\n"
                       "LOCATION:  CheckMyDatabase, postinit.c:405\n"),
            "CheckMyDatabase");
  EXPECT_EQ(FunctionIn("FATAL:  08P01: unsupported startup parameter: options\n"), "");
  EXPECT_EQ(FunctionIn("LOCATION:  f"), "f");
}

// --- results ---

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

TEST(ResultErrorTest, ResultNotSentByTheServerIsALostConnection) {
  const std::unique_ptr<PGconn, Clear> connection(PQconnectStart("host=/no/such/directory"));
  const std::unique_ptr<PGresult, Clear> result(
      PQmakeEmptyPGresult(connection.get(), PGRES_FATAL_ERROR));
  EXPECT_THAT(ResultError(connection.get(), result.get()), HasError(ErrorCode::kConnectionLost));
  EXPECT_THAT(ResultError(connection.get(), nullptr), HasError(ErrorCode::kConnectionLost));
}

TEST(ConnectErrorTest, MissingServerIsUnreachable) {
  const std::unique_ptr<PGconn, Clear> connection(PQconnectdb("host=/no/such/directory"));
  EXPECT_THAT(ConnectError(connection.get()),
              HasError(ErrorCode::kPostgresUnreachable, "/no/such/directory"));
}

}  // namespace
}  // namespace walrelay

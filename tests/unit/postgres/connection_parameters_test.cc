#include "postgres/connection_parameters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <map>

#include "fakes/status_matchers.h"
#include "postgres/session_settings.h"
#include "postgres/source_identity.h"
#include "postgres_environment.h"

namespace walrelay {
namespace {

class ConnectionParametersTest : public PostgresEnvironment {
 protected:
  // The parameters by name; each name must occur once.
  std::map<std::string, std::string> Make(
      const std::string& dsn, ConnectionPurpose purpose = ConnectionPurpose::kReplication) {
    source_.dsn = dsn;
    const auto parameters = MakeConnectionParameters(source_, purpose);
    EXPECT_THAT(parameters, IsOk());
    std::map<std::string, std::string> by_name;
    for (const auto& [name, value] : parameters.value()) {
      EXPECT_TRUE(by_name.emplace(name, value).second) << name;
    }
    return by_name;
  }
  absl::StatusOr<ConnectionParameters> TryMake() {
    return MakeConnectionParameters(source_, ConnectionPurpose::kSql);
  }
};

TEST_F(ConnectionParametersTest, BothFormsOfADsnAreParsed) {
  for (const char* dsn : {"postgresql://relay@db:5433/shop", "postgres://relay@db:5433/shop",
                          "host=db port=5433 user=relay dbname=shop"}) {
    const auto parameters = Make(dsn);
    EXPECT_EQ(parameters.at("host"), "db");
    EXPECT_EQ(parameters.at("port"), "5433");
    EXPECT_EQ(parameters.at("user"), "relay");
    EXPECT_EQ(parameters.at("dbname"), "shop");
  }
}

TEST_F(ConnectionParametersTest, OnlyReplicationConnectionsSetReplication) {
  EXPECT_EQ(Make("host=db").at("replication"), "database");
  EXPECT_EQ(Make("host=db replication=true").at("replication"), "database");
  EXPECT_EQ(Make("host=db", ConnectionPurpose::kSql).count("replication"), 0u);
}

// The last of two assignments to a setting wins.
TEST_F(ConnectionParametersTest, SessionFormatsOverrideThoseOfTheDsn) {
  const std::string options =
      Make("host=db options='-c datestyle=German -c work_mem=1MB'").at("options");
  EXPECT_TRUE(options.starts_with("-c datestyle=German -c work_mem=1MB "));
  EXPECT_GT(options.find("datestyle=ISO"), options.find("datestyle=German"));
  for (const char* format : {"timezone=UTC", "bytea_output=hex", "intervalstyle=postgres"}) {
    EXPECT_NE(options.find(format), std::string::npos) << format;
  }
}

TEST_F(ConnectionParametersTest, OptionsContainEverySessionSetting) {
  for (const auto purpose :
       {ConnectionPurpose::kReplication, ConnectionPurpose::kSql, ConnectionPurpose::kSetup}) {
    const std::string options =
        Make("host=db options='-c search_path=evil'", purpose).at("options");
    EXPECT_TRUE(options.ends_with(StartupSettings(purpose)) ||
                purpose == ConnectionPurpose::kReplication);
    EXPECT_GT(options.find("search_path=pg_catalog"), options.find("search_path=evil"));
  }
}

TEST_F(ConnectionParametersTest, DecodingMemoryIsSetOnlyForReplication) {
  EXPECT_EQ(Make("host=db").at("options").find("logical_decoding_work_mem"), std::string::npos);
  source_.decoding_memory = int64_t{256} << 20;
  EXPECT_NE(Make("host=db").at("options").find("-c logical_decoding_work_mem=262144kB"),
            std::string::npos);
  EXPECT_EQ(Make("host=db", ConnectionPurpose::kSql).at("options").find("decoding_work_mem"),
            std::string::npos);
}

TEST_F(ConnectionParametersTest, EachHostOfAListIsASeparateAttempt) {
  const auto hosts = EachHost({{"host", "a,b,c"}, {"port", "1,2,3"}, {"user", "u,v"}});
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[1], (ConnectionParameters{{"host", "b"}, {"port", "2"}, {"user", "u,v"}}));
  EXPECT_EQ(EachHost({{"host", "a,b"}, {"port", "1"}})[1],
            (ConnectionParameters{{"host", "b"}, {"port", "1"}}));
  EXPECT_EQ(EachHost({{"port", "1"}, {"host", "a,b"}})[1],
            (ConnectionParameters{{"port", "1"}, {"host", "b"}}));
  EXPECT_EQ(EachHost({}).size(), 1u);
}

TEST_F(ConnectionParametersTest, StandbyIsNotAcceptedForSeveralHostsByDefault) {
  EXPECT_TRUE(AcceptsStandby({{"host", "a"}}));
  EXPECT_FALSE(AcceptsStandby({{"host", "a,b"}}));
  EXPECT_TRUE(AcceptsStandby({{"host", "a,b"}, {"target_session_attrs", "any"}}));
  const auto accepts = [this](const char* dsn) {
    source_.dsn = dsn;
    return AcceptsStandby(*TryMake());
  };
  EXPECT_FALSE(accepts("host=a,b"));
  SetVariable("PGTARGETSESSIONATTRS", "any");
  EXPECT_TRUE(accepts("host=a,b"));
  SetVariable("PGTARGETSESSIONATTRS", "");
  SetService("host=a,b\ntarget_session_attrs=read-write");
  EXPECT_TRUE(accepts("service=shop"));
  SetService("host=a,b");
  EXPECT_FALSE(accepts("service=shop"));
}

// libpq knows them, so they are explicit: nothing else can add a host to a connection.
TEST_F(ConnectionParametersTest, ServiceFileAndVariablesArePartOfTheParameters) {
  SetService("host=a,b\nport=1,2\nuser=relay\ndbname=shop\nkeepalives_idle=77");
  SetVariable("PGHOST", "elsewhere");
  SetVariable("PGAPPNAME", "mine");
  const auto parameters = Make("service=shop dbname=other");
  EXPECT_EQ(parameters.at("host"), "a,b");
  EXPECT_EQ(parameters.at("port"), "1,2");
  EXPECT_EQ(parameters.at("dbname"), "other");
  EXPECT_EQ(parameters.at("keepalives_idle"), "77");
  EXPECT_EQ(parameters.at("application_name"), "mine");
  EXPECT_EQ(parameters.at("gssencmode"), "disable");
  source_.dsn = "service=shop";
  EXPECT_EQ(EachHost(*TryMake()).size(), 2u);
  SetVariable("PGCHANNELBINDING", "require");
  EXPECT_EQ(Make("host=db channel_binding=prefer").at("channel_binding"), "prefer");
  EXPECT_EQ(Make("host=db").count("channel_binding"), 0u) << "left to libpq";
}

TEST_F(ConnectionParametersTest, ErrorOfLibpqIsReported) {
  SetService("host=a");
  source_.dsn = "service=none";
  EXPECT_THAT(TryMake(), HasError(ErrorCode::kConfigValue, "source.dsn: definition of service"));
  source_.dsn = "host=a,b port=1,2,3";
  EXPECT_THAT(TryMake(), HasError(ErrorCode::kConfigValue, "source.dsn: could not match 3 port"));
  EXPECT_THAT(MakeConnectionParameters(source_, ConnectionPurpose::kSetup, "prune.dsn"),
              HasError(ErrorCode::kConfigValue, "prune.dsn: could not match"));
}

TEST_F(ConnectionParametersTest, EncodingIsAlwaysUtf8) {
  EXPECT_EQ(Make("host=db client_encoding=LATIN1").at("client_encoding"), "UTF8");
}

TEST_F(ConnectionParametersTest, WalSenderTimeoutIsSetOnlyWhenConfigured) {
  source_.wal_sender_timeout = std::chrono::seconds(12);
  EXPECT_NE(Make("host=db").at("options").find("wal_sender_timeout=12000ms"), std::string::npos);
  EXPECT_EQ(Make("host=db", ConnectionPurpose::kSql).at("options").find("wal_sender_timeout"),
            std::string::npos);
  source_.wal_sender_timeout = Micros(0);
  EXPECT_EQ(Make("host=db").at("options").find("wal_sender_timeout"), std::string::npos);
}

TEST_F(ConnectionParametersTest, DeadPeerIsDetected) {
  const auto parameters = Make("host=db");
  EXPECT_EQ(parameters.at("tcp_user_timeout"), "30000");
  EXPECT_EQ(parameters.at("keepalives_idle"), "10");
  EXPECT_EQ(Make("host=db tcp_user_timeout=5000").at("tcp_user_timeout"), "5000");
}

TEST_F(ConnectionParametersTest, RemoteServerIsVerifiedByDefault) {
  EXPECT_EQ(Make("host=db").at("sslmode"), "verify-full");
  EXPECT_EQ(Make("host=db sslmode=").at("sslmode"), "verify-full");
  EXPECT_EQ(Make("postgresql://db/?sslmode=").at("sslmode"), "verify-full");
  source_.allow_insecure = true;
  EXPECT_EQ(Make("host=db sslmode=require").at("sslmode"), "require");
}

TEST_F(ConnectionParametersTest, LocalHostsAndAllowInsecureNeedNoTls) {
  EXPECT_EQ(Make("host=127.0.0.1").at("sslmode"), "prefer");
  EXPECT_EQ(Make("dbname=shop").at("sslmode"), "prefer");
  source_.allow_insecure = true;
  EXPECT_EQ(Make("host=db").at("sslmode"), "prefer");
}

TEST_F(ConnectionParametersTest, HostOfAServiceIsVerifiedUnlessItIsLocal) {
  SetService("host=db");
  EXPECT_EQ(Make("service=shop").at("sslmode"), "verify-full");
  SetVariable("PGSERVICE", "shop");
  EXPECT_EQ(Make("dbname=shop").at("sslmode"), "verify-full");
  SetService("host=localhost");
  EXPECT_EQ(Make("dbname=shop").at("sslmode"), "prefer");
}

TEST_F(ConnectionParametersTest, SectionPasswordOverridesThatOfTheDsn) {
  EXPECT_EQ(Make("host=db password=dsn").at("password"), "dsn");
  source_.password = Secret("section");
  EXPECT_EQ(Make("host=db password=dsn").at("password"), "section");
  source_.password_file = directory_.Write("password", "file\n");
  EXPECT_EQ(Make("host=db password=dsn").at("password"), "file");
}

TEST_F(ConnectionParametersTest, PasswordFileIsReadAtEachConnection) {
  source_.password_file = directory_.Write("password", "first");
  EXPECT_EQ(Make("host=db").at("password"), "first");
  directory_.Write("password", "second");
  EXPECT_EQ(Make("host=db").at("password"), "second");
}

TEST_F(ConnectionParametersTest, PasswordFileMustBeReadable) {
  source_.dsn = "host=db";
  source_.password_file = directory_.File("missing");
  EXPECT_THAT(TryMake(), HasError(ErrorCode::kSecretFile, "missing"));
}

TEST_F(ConnectionParametersTest, InvalidDsnIsNotShown) {
  for (const char* dsn :
       {"postgresql://relay:s3cret@db/shop?x", "host=db password=s3cret nonsense",
        "postgresql://relay:s3cret@[db/shop", "password='s3cret", "host=db s3cret=1",
        "postgresql://relay:s3cret@db/shop?nonsense=1", "postgresql://relay:s3cret%zz@db/shop"}) {
    source_.dsn = dsn;
    const absl::Status status = TryMake().status();
    ASSERT_THAT(status, HasError(ErrorCode::kConfigValue, "source.dsn")) << dsn;
    EXPECT_EQ(Explain(status).find("s3cret"), std::string::npos) << dsn;
    EXPECT_EQ(DescribeDsn(source_).find("s3cret"), std::string::npos) << dsn;
    EXPECT_EQ(DescribeDsnAlone(source_).find("s3cret"), std::string::npos) << dsn;
    EXPECT_EQ(IdentityOf(source_).source.find("s3cret"), std::string::npos) << dsn;
  }
}

// libpq would take a part of such a password for a port, a host or a database.
TEST_F(ConnectionParametersTest, PasswordThatIsNotEncodedIsRefusedAndNotShown) {
  for (const char* password : {"Kx9/s3cret", "1/s3cret", "/s3cret", "s3cret/", "s3cret@x",
                               "1/s3cret/2", "x@s3cret/y", "5432/s3cret#"}) {
    source_.dsn = fmt::format("postgresql://walrelay:{}@db.internal/shop", password);
    const absl::Status status = TryMake().status();
    ASSERT_THAT(status, HasError(ErrorCode::kConfigValue, "source.dsn: its ")) << password;
    EXPECT_NE(Explain(status).find("ercent-encode"), std::string::npos) << password;
    for (const std::string& text : {Explain(status), DescribeDsn(source_),
                                    DescribeDsnAlone(source_), IdentityOf(source_).source}) {
      EXPECT_EQ(text.find("s3cret"), std::string::npos) << password;
    }
  }
  for (const char* dsn :
       {"postgresql://me%40server:p%2Fw@db/shop", "host=db dbname=a@b", "postgresql://db/a%40b",
        "postgresql://db/shop?user=me@server", "host=@abstract", "host=db,@abstract port=1,2"}) {
    source_.dsn = dsn;
    EXPECT_THAT(TryMake(), IsOk()) << dsn;
  }
}

TEST_F(ConnectionParametersTest, UsualMistakesInAConnectionStringAreNamed) {
  const auto refusal = [this](const char* dsn) {
    source_.dsn = dsn;
    return TryMake().status();
  };
  EXPECT_THAT(refusal("jdbc:postgresql://h/d?password=s3cret"),
              HasError(ErrorCode::kConfigValue, "drop \"jdbc:\""));
  EXPECT_THAT(refusal("${DATABASE_URL}"), HasError(ErrorCode::kConfigValue, "has no meaning"));
  EXPECT_THAT(refusal("u:s3cret@h:5432/shop"),
              HasError(ErrorCode::kConfigValue, "begins with \"postgresql://\""));
  for (const char* dsn : {"jdbc:postgresql://h/d?password=s3cret", "u:s3cret@h:5432/shop"}) {
    EXPECT_EQ(Explain(refusal(dsn)).find("s3cret"), std::string::npos) << dsn;
  }
}

// --- the transport ---

class PostgresTransportTest : public PostgresEnvironment {
 protected:
  absl::Status Check(const std::string& dsn) {
    source_.dsn = dsn;
    return MakeConnectionParameters(source_, ConnectionPurpose::kSql).status();
  }
};

TEST_F(PostgresTransportTest, RemoteServersNeedVerifyFull) {
  for (const char* mode : {"disable", "allow", "prefer", "require", "verify-ca"}) {
    for (const char* dsn : {"host=db", "host=10.0.0.1", "hostaddr=10.0.0.1", "host=::2"}) {
      EXPECT_THAT(Check(std::string(dsn) + " sslmode=" + mode),
                  HasError(ErrorCode::kInsecureTransport, mode))
          << dsn;
    }
  }
  EXPECT_THAT(Check("host=db sslmode=verify-full"), IsOk());
  EXPECT_THAT(Check("host=db"), IsOk());
}

TEST_F(PostgresTransportTest, LocalHostsNeedNoTls) {
  for (const char* dsn : {"dbname=shop", "host=/run/postgresql", "host=@abstract", "host=localhost",
                          "host=127.0.0.1", "host=127.1.2.3", "host=::1", "hostaddr=127.0.0.1",
                          "host=db hostaddr=127.0.0.1", "host=localhost,127.0.0.1,/tmp"}) {
    EXPECT_THAT(Check(std::string(dsn) + " sslmode=disable"), IsOk()) << dsn;
  }
  EXPECT_THAT(Check("postgresql:///shop?host=/run/postgresql&sslmode=disable"), IsOk());
}

TEST_F(PostgresTransportTest, EveryHostOfAListIsChecked) {
  for (const char* dsn :
       {"host=localhost,db", "host=db,localhost", "host=127.0.0.1,db,::1",
        "hostaddr=127.0.0.1,10.0.0.1", "host=localhost,localhost hostaddr=127.0.0.1,10.0.0.1"}) {
    EXPECT_THAT(Check(std::string(dsn) + " sslmode=prefer"),
                HasError(ErrorCode::kInsecureTransport))
        << dsn;
  }
  EXPECT_THAT(Check("postgresql://localhost:1,db:2/shop?sslmode=disable"),
              HasError(ErrorCode::kInsecureTransport));
}

// libpq then connects to the host at the same position of its list.
TEST_F(PostgresTransportTest, EmptyHostaddrFallsBackToTheHost) {
  EXPECT_THAT(Check("host=localhost,db hostaddr=127.0.0.1, sslmode=disable"),
              HasError(ErrorCode::kInsecureTransport));
  EXPECT_THAT(Check("host=db,localhost hostaddr=127.0.0.1, sslmode=disable"), IsOk());
}

TEST_F(PostgresTransportTest, NamesThatOnlyLookLocalAreRemote) {
  for (const char* host : {"127.example.com", "localhost.example.com", "127.0.0.1.example.com"}) {
    EXPECT_THAT(Check(std::string("host=") + host + " sslmode=disable"),
                HasError(ErrorCode::kInsecureTransport));
  }
}

// libpq decides what counts: the DSN, then the service file, then the variable.
TEST_F(PostgresTransportTest, ServiceFileCountsAsForLibpq) {
  SetService("host=db\nsslmode=disable");
  EXPECT_THAT(Check("service=shop"), HasError(ErrorCode::kInsecureTransport, "disable"));
  EXPECT_THAT(Check("service=shop sslmode=verify-full"), IsOk());
  SetVariable("PGSSLMODE", "verify-full");
  EXPECT_THAT(Check("service=shop"), HasError(ErrorCode::kInsecureTransport, "disable"));
  SetVariable("PGSERVICE", "shop");
  EXPECT_THAT(Check("dbname=shop"), HasError(ErrorCode::kInsecureTransport, "disable"));
  SetService("host=db\nsslmode=verify-full");
  SetVariable("PGSSLMODE", "disable");
  EXPECT_THAT(Check("service=shop"), IsOk());
  SetService("hostaddr=10.0.0.1\nhost=localhost");
  EXPECT_THAT(Check("service=shop"), HasError(ErrorCode::kInsecureTransport, "disable"));
  SetService("host=127.0.0.1");
  EXPECT_THAT(Check("service=shop"), IsOk());
  // A host of the DSN takes precedence, but not over an address of the service file.
  SetService("hostaddr=10.0.0.1");
  EXPECT_THAT(Check("service=shop host=localhost"), HasError(ErrorCode::kInsecureTransport));
}

TEST_F(PostgresTransportTest, AllowInsecureDisablesTheCheck) {
  source_.allow_insecure = true;
  EXPECT_THAT(Check("host=db sslmode=disable"), IsOk());
}

TEST_F(PostgresTransportTest, EnvironmentVariablesAreRead) {
  SetVariable("PGSSLMODE", "prefer");
  EXPECT_THAT(Check("host=db"), HasError(ErrorCode::kInsecureTransport, "prefer"));
  EXPECT_THAT(Check("dbname=shop"), IsOk());
  SetVariable("PGHOST", "db");
  EXPECT_THAT(Check("dbname=shop"), HasError(ErrorCode::kInsecureTransport));
  SetVariable("PGHOSTADDR", "127.0.0.1");
  EXPECT_THAT(Check("dbname=shop"), IsOk());
}

TEST_F(PostgresTransportTest, EmptySslmodeFallsBackToTheEnvironment) {
  SetVariable("PGSSLMODE", "prefer");
  EXPECT_THAT(Check("host=db sslmode="), HasError(ErrorCode::kInsecureTransport, "prefer"));
}

class RootCertificateTest : public PostgresEnvironment {
 protected:
  RootCertificateTest() { SetVariable("HOME", directory_.path()); }
  absl::Status Check(const ConnectionParameters& parameters) {
    return CheckRootCertificate(parameters);
  }
  // An existing file; its content is libpq's concern.
  std::string File() { return directory_.Write("ca.pem", "certificate"); }
};

TEST_F(RootCertificateTest, MissingFileIsAConfigurationErrorThatNamesIt) {
  const absl::Status status =
      Check({{"host", "db"}, {"sslmode", "verify-full"}, {"sslrootcert", "/no/such/ca.pem"}});
  EXPECT_THAT(status, HasError(ErrorCode::kServerCertificate, "/no/such/ca.pem: No such file"));
  EXPECT_EQ(ExitCodeFor(status), ExitCode::kConfiguration);
  EXPECT_THAT(RemedyFor(status), ::testing::HasSubstr("sslrootcert=FILE"));
}

TEST_F(RootCertificateTest, DefaultFileIsInTheHomeFolder) {
  EXPECT_THAT(Check({{"host", "db"}, {"sslmode", "verify-ca"}}),
              HasError(ErrorCode::kServerCertificate, directory_.path() + "/.postgresql/root.crt"));
}

TEST_F(RootCertificateTest, FileOfTheDsnOrOfTheEnvironmentIsFound) {
  EXPECT_THAT(Check({{"host", "db"}, {"sslmode", "verify-full"}, {"sslrootcert", File()}}), IsOk());
  SetVariable("PGSSLROOTCERT", File());
  source_.dsn = "host=db";
  EXPECT_THAT(Check(*MakeConnectionParameters(source_, ConnectionPurpose::kSql)), IsOk());
}

TEST_F(RootCertificateTest, NoFileIsNeededWithoutVerification) {
  EXPECT_THAT(Check({{"host", "db"}}), IsOk());
  EXPECT_THAT(Check({{"host", "db"}, {"sslmode", "require"}}), IsOk());
  EXPECT_THAT(Check({{"host", "/run/postgresql"}, {"sslmode", "verify-full"}}), IsOk());
  EXPECT_THAT(Check({{"sslmode", "verify-full"}}), IsOk());
}

TEST_F(RootCertificateTest, SystemIsAFileNameForAnOldLibpq) {
  const absl::Status status =
      Check({{"host", "db"}, {"sslmode", "verify-full"}, {"sslrootcert", "system"}});
  EXPECT_EQ(status.ok(), PQlibVersion() >= 160000);
}

}  // namespace
}  // namespace walrelay

#include "cli/config_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fakes/environment_variable.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

class ConfigDirectoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& slot, const std::string& more = "") const {
    directory_.Write(name, "[source]\ndsn = 'host=localhost dbname=shop'\nslot = '" + slot +
                               "'\nallow_insecure = true\n[kafka]\nbootstrap_servers = "
                               "'localhost:9092'\nallow_insecure = true\n" +
                               more);
  }
  absl::StatusOr<ProcessSpec> Load() const {
    return LoadConfigDirectory(directory_.path(), flags_);
  }

  testing::TemporaryDirectory directory_;
  testing::EnvironmentVariable variable_{"WALRELAY_CONFIG", std::nullopt};
  ConfigFlags flags_;
};

TEST_F(ConfigDirectoryTest, EachFileIsAPipelineWithItsName) {
  Write("payments.toml", "pay");
  Write("orders-1.toml", "orders");
  Write(".hidden.toml", "hidden");
  Write("notes.txt", "notes");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->pipelines.size(), 2u);
  EXPECT_EQ(spec->pipelines[0].name, "orders-1");
  ASSERT_THAT(spec->pipelines[1].config, IsOk());
  EXPECT_EQ(spec->pipelines[1].config->source.slot, "pay");
}

TEST_F(ConfigDirectoryTest, InvalidFileMakesOnlyItsPipelineInvalid) {
  Write("a.toml", "a");
  directory_.Write("b.toml", "[source]\nslott = 'b'\n");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->pipelines[0].config, IsOk());
  EXPECT_FALSE(spec->pipelines[1].config.ok());
  EXPECT_THAT(MessageOf(spec->pipelines[1].config.status()), HasSubstr("b.toml"));
}

// Anyone who may write to the folder could otherwise add a pipeline, and commands.
TEST_F(ConfigDirectoryTest, FileThatOthersMayWriteIsInvalid) {
  Write("a.toml", "a");
  Write("b.toml", "b");
  ASSERT_EQ(::chmod(directory_.File("b.toml").c_str(), 0646), 0);
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->pipelines[0].config, IsOk());
  EXPECT_THAT(spec->pipelines[1].config, HasError(ErrorCode::kUntrustedFile, "b.toml"));
}

TEST_F(ConfigDirectoryTest, SecondReaderOfASlotIsInvalid) {
  Write("a.toml", "same");
  Write("b.toml", "same");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->pipelines[0].config, IsOk());
  EXPECT_THAT(spec->pipelines[1].config, HasError(ErrorCode::kConfigValue));
}

// A tenant's database has the same name on each server.
class SharedIdTest : public ConfigDirectoryTest {
 protected:
  // Writes a pipeline, of which each line of `more` belongs to [pipeline].
  void Pipeline(const std::string& name, const std::string& dsn, const std::string& more = "",
                const std::string& brokers = "kafka:9092") const {
    directory_.Write(name + ".toml", "[source]\ndsn = '" + dsn +
                                         "'\nallow_insecure = true\n[kafka]\nallow_insecure = "
                                         "true\nbootstrap_servers = '" +
                                         brokers + "'\n[pipeline]\n" + more);
  }
  void ExpectRefused(const std::string& id) const {
    const auto spec = Load();
    ASSERT_THAT(spec, IsOk());
    EXPECT_THAT(spec->pipelines[0].config, HasError(ErrorCode::kConfigValue, "a.toml: "));
    EXPECT_THAT(spec->pipelines[0].config, HasError(ErrorCode::kConfigValue, "that of "));
    EXPECT_THAT(spec->pipelines[0].config, HasError(ErrorCode::kConfigValue, "b.toml, in"));
    EXPECT_THAT(spec->pipelines[1].config,
                HasError(ErrorCode::kConfigValue, "pipeline.id \"" + id + "\""));
    EXPECT_THAT(spec->pipelines[1].config, HasError(ErrorCode::kConfigValue, "a.toml, in"));
    EXPECT_THAT(RemedyFor(spec->pipelines[1].config.status()), HasSubstr("Set id in [pipeline]"));
  }
  void ExpectAccepted() const {
    const auto spec = Load();
    ASSERT_THAT(spec, IsOk());
    for (const PipelineSpec& each : spec->pipelines) {
      EXPECT_THAT(each.config, IsOk());
    }
  }
};

TEST_F(SharedIdTest, DefaultsOfTwoServersAreRefused) {
  Pipeline("a", "host=db1 dbname=app");
  Pipeline("b", "postgresql://db2/app");
  ExpectRefused("app.walrelay");
  Pipeline("b", "host=db2 dbname=app", "id = 'second'\n");
  ExpectAccepted();
}

TEST_F(SharedIdTest, DatabaseThatTheDsnDoesNotNameIsThatOfLibpq) {
  testing::EnvironmentVariable database("PGDATABASE", std::nullopt);
  Pipeline("a", "host=db1 user=app");
  Pipeline("b", "host=db2 dbname=app user=other");
  ExpectRefused("app.walrelay");
  testing::EnvironmentVariable named("PGDATABASE", "elsewhere");
  ExpectAccepted();
  Pipeline("b", "host=db2 dbname=elsewhere");
  ExpectRefused("elsewhere.walrelay");
}

TEST_F(SharedIdTest, IdThatIsSetMayBeTheDefaultOfAnother) {
  Pipeline("a", "host=db1 dbname=app");
  Pipeline("b", "host=db2 dbname=other", "id = 'app.walrelay'\nmode = 'exactly_once'\n");
  ExpectRefused("app.walrelay");
}

TEST_F(SharedIdTest, ClustersThatShareABrokerAreTheSame) {
  Pipeline("a", "host=db1 dbname=app", "", "PLAINTEXT://Kafka, k2:9093");
  Pipeline("b", "host=db2 dbname=app", "", "k3,kafka:9092");
  ExpectRefused("app.walrelay");
  Pipeline("b", "host=db2 dbname=app", "", "k2:9094");
  ExpectAccepted();
}

TEST_F(SharedIdTest, IdWithoutARecordIsNotUsed) {
  Pipeline("a", "host=db1 dbname=app", "progress = 'off'\n");
  Pipeline("b", "host=db2 dbname=app");
  ExpectAccepted();
}

TEST_F(SharedIdTest, SecondReaderOfASlotMayHaveAnotherUser) {
  Pipeline("a", "host=db1 dbname=app user=one");
  Pipeline("b", "host=db1 dbname=app user=two");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->pipelines[0].config, IsOk());
  EXPECT_THAT(spec->pipelines[1].config, HasError(ErrorCode::kConfigValue, "is read by"));
}

TEST_F(ConfigDirectoryTest, OptionsOfTheProcessMayBeInAnyFile) {
  Write("a.toml", "a", "[log]\nlevel = 'debug'\n");
  Write("b.toml", "b", "[http]\nlisten = '127.0.0.1:9999'\n");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->log.level, LogLevel::kDebug);
  EXPECT_EQ(spec->http.listen, "127.0.0.1:9999");
}

TEST_F(ConfigDirectoryTest, FilesMustAgreeAboutTheProcess) {
  Write("a.toml", "a", "[log]\nlevel = 'debug'\n");
  Write("b.toml", "b", "[log]\nlevel = 'info'\n");
  const auto spec = Load();
  EXPECT_THAT(spec, HasError(ErrorCode::kConfigValue));
  EXPECT_THAT(MessageOf(spec.status()), HasSubstr("log.level"));
}

TEST_F(ConfigDirectoryTest, FlagsApplyToEachPipeline) {
  Write("a.toml", "a");
  Write("b.toml", "b");
  flags_.set = {"kafka.compression=lz4"};
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->pipelines[0].config->kafka.compression, "lz4");
  EXPECT_EQ(spec->pipelines[1].config->kafka.compression, "lz4");
}

TEST_F(ConfigDirectoryTest, DirectoryWithoutFilesIsAnError) {
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile));
  EXPECT_THAT(LoadConfigDirectory(directory_.path() + "/none", flags_),
              HasError(ErrorCode::kConfigFile));
}

TEST_F(ConfigDirectoryTest, FilesOfTheSameNameAreAnError) {
  Write("a.toml", "a");
  directory_.Write("a.json", "{}");
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile));
}

TEST_F(ConfigDirectoryTest, NameThatCannotBeShownMakesThePipelineInvalid) {
  Write("a b.toml", "a");
  const auto spec = Load();
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->pipelines[0].config, HasError(ErrorCode::kConfigFile));
}

TEST_F(ConfigDirectoryTest, SinglePipelineHasNoName) {
  Write("walrelay.toml", "a", "[http]\nlisten = ''\n");
  flags_.file = directory_.path() + "/walrelay.toml";
  const auto spec = LoadSinglePipeline(flags_);
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->pipelines.size(), 1u);
  EXPECT_EQ(spec->pipelines[0].name, "");
  EXPECT_EQ(spec->http.listen, "");
}

TEST_F(ConfigDirectoryTest, ProcessIsIdentifiedByTheRealPath) {
  Write("walrelay.toml", "a");
  flags_.file = directory_.path() + "/./walrelay.toml";
  EXPECT_EQ(ConfigPath("", flags_), ConfigPath("", {.file = directory_.path() + "/walrelay.toml"}));
  EXPECT_EQ(ConfigPath(directory_.path() + "/", {}), ConfigPath(directory_.path(), {}));
}

}  // namespace
}  // namespace walrelay

// Selection of the configuration file, and the flags that override it.
#include "cli/config_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fakes/environment_variable.h"
#include "fakes/slow_pipe.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using testing::EnvironmentVariable;

class ConfigFlagsTest : public ::testing::Test {
 protected:
  ConfigFlagsTest() { std::filesystem::current_path(directory_.path()); }
  ~ConfigFlagsTest() override { std::filesystem::current_path(before_); }

  // Writes a file that sets source.slot to its own name without extension; returns its path.
  std::string Write(const std::string& name) const {
    return directory_.Write(name, "[source]\nslot = '" + name.substr(0, name.find('.')) + "'\n");
  }
  absl::StatusOr<LoadedConfig> Load() const { return LoadConfig(flags_); }
  std::string Slot() const {
    const auto loaded = Load();
    EXPECT_THAT(loaded, IsOk());
    return loaded.ok() ? loaded->config.source.slot : "";
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  testing::TemporaryDirectory directory_;
  EnvironmentVariable variable_{"WALRELAY_CONFIG", std::nullopt};
  ConfigFlags flags_{.dsn = "host=db", .kafka = "kafka:9092"};
};

TEST_F(ConfigFlagsTest, NoFileIsNeeded) {
  EXPECT_EQ(Slot(), "walrelay");
}

TEST_F(ConfigFlagsTest, FlagOverridesVariableAndVariableOverridesTheDefaultFile) {
  directory_.Write("walrelay.toml", "[source]\nslot = 'default'\n");
  EXPECT_EQ(Slot(), "default");
  variable_.Set(Write("variable.toml"));
  EXPECT_EQ(Slot(), "variable");
  flags_.file = Write("flag.toml");
  EXPECT_EQ(Slot(), "flag");
}

// The file may name commands.
TEST_F(ConfigFlagsTest, FileOfTheCurrentFolderMustNotBeWritableByOthers) {
  const std::string file = directory_.Write("walrelay.toml", "[source]\nslot = 'found'\n", 0666);
  EXPECT_THAT(Load(), HasError(ErrorCode::kUntrustedFile, "is writable by other users"));
  flags_.file = "walrelay.toml";
  EXPECT_EQ(Slot(), "found");
  flags_.file.clear();
  variable_.Set(file);
  EXPECT_EQ(Slot(), "found");
}

TEST_F(ConfigFlagsTest, BrokenLinkInTheCurrentFolderIsNotPassedOver) {
  std::filesystem::create_symlink("none", directory_.File("walrelay.toml"));
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile, "none: No such file"));
}

TEST_F(ConfigFlagsTest, CommandThatChangesSomethingNamesItsFileFirst) {
  directory_.Write("walrelay.toml", "[source]\nslot = 'found'\n");
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(LoadConfig(ForChange(flags_)), IsOk());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "walrelay: configuration " + std::filesystem::current_path().string() +
                "/walrelay.toml (in the current folder)\n");
  flags_.file = "/dev/null";
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(LoadConfig(ForChange(flags_)), IsOk());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "walrelay: configuration /dev/null (--config)\n");
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(LoadConfig(ForChange(flags_, false)), IsOk());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ConfigFlagsTest, EmptyVariableNamesNoFile) {
  variable_.Set("");
  EXPECT_EQ(Slot(), "walrelay");
}

TEST_F(ConfigFlagsTest, NamedFileMustExist) {
  flags_.file = directory_.File("missing.toml");
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile, "missing.toml: No such file"));
  flags_.file.clear();
  variable_.Set(directory_.File("absent.toml"));
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile, "absent.toml"));
  flags_.file = directory_.path();
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile, "Is a directory"));
}

TEST_F(ConfigFlagsTest, FileLargerThanOneMebibyteIsRefused) {
  flags_.file = directory_.Write("large.toml", std::string(1 << 20, '#'));
  EXPECT_THAT(Load(), IsOk());
  directory_.Write("large.toml", std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigFile, "larger than 1 MiB"));
}

// The shell passes a pipe for <(envsubst …). Half a configuration could be valid too.
TEST_F(ConfigFlagsTest, PipeIsReadToItsEnd) {
  const std::string comment = "#" + std::string(20'000, 'x') + "\n";
  const testing::SlowPipe pipe(directory_.File("pipe"), comment + "[source]\nslot = 'last'\n");
  flags_.file = pipe.path();
  EXPECT_EQ(Slot(), "last");
}

TEST_F(ConfigFlagsTest, ShortcutFlagsSetOptions) {
  flags_.slot = "s";
  flags_.publication = "p";
  flags_.table = "a.b";
  const auto loaded = Load();
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.source.dsn, "host=db");
  EXPECT_EQ(loaded->config.kafka.bootstrap_servers, "kafka:9092");
  EXPECT_EQ(loaded->config.source.slot, "s");
  EXPECT_EQ(loaded->config.source.publication, "p");
  EXPECT_EQ(loaded->config.source.tables[0].schema, "a");
}

TEST_F(ConfigFlagsTest, SetSplitsAtTheFirstEqualsSign) {
  flags_.set = {"source.dsn=host=x user=y", "route.allow=a=b"};
  const auto loaded = Load();
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.source.dsn, "host=x user=y");
  EXPECT_EQ(loaded->config.route.allow, std::vector<std::string>{"a=b"});
}

TEST_F(ConfigFlagsTest, LastSetWins) {
  flags_.slot = "shortcut";
  flags_.set = {"source.slot=first", "source.slot=second"};
  EXPECT_EQ(Slot(), "second");
}

TEST_F(ConfigFlagsTest, SetWithoutAValueIsAUsageError) {
  flags_.set = {"source.slot\x1b[2J"};
  EXPECT_THAT(Load(),
              HasError(ErrorCode::kUsage, "--set source.slot\\x1b[2J: expected section.key=value"));
  flags_.set = {"=x"};
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigUnknownKey));
}

TEST_F(ConfigFlagsTest, EnvironmentVariablesAreRead) {
  const EnvironmentVariable slot("WALRELAY_SOURCE__SLOT", "from_variable");
  EXPECT_EQ(Slot(), "from_variable");
}

TEST_F(ConfigFlagsTest, CommandRequiresOnlyTheOptionsItNeeds) {
  flags_.kafka.clear();
  EXPECT_THAT(Load(), HasError(ErrorCode::kConfigValue, "kafka.bootstrap_servers"));
  flags_.needs.kafka = false;
  EXPECT_THAT(Load(), IsOk());
}

}  // namespace
}  // namespace walrelay

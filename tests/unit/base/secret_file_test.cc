#include "base/secret_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakes/slow_pipe.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMax = 64 * 1024;

class SecretFileTest : public ::testing::Test {
 protected:
  // Reads the secret from a file with this content.
  std::string Read(std::string_view content) {
    const auto secret = ReadSecretFile(directory_.Write("secret", content));
    EXPECT_THAT(secret, IsOk());
    return secret.ok() ? secret->Reveal() : "";
  }
  absl::Status ErrorOf(std::string_view name) {
    return ReadSecretFile(directory_.File(name)).status();
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(SecretFileTest, OneTrailingNewlineIsNotPartOfTheSecret) {
  EXPECT_EQ(Read("hunter2"), "hunter2");
  EXPECT_EQ(Read("hunter2\n"), "hunter2");
  EXPECT_EQ(Read("hunter2\n\n"), "hunter2\n");
}

TEST_F(SecretFileTest, EveryOtherByteIsPartOfTheSecret) {
  EXPECT_EQ(Read(" a b\t"), " a b\t");
  EXPECT_EQ(Read("\nx"), "\nx");
  EXPECT_EQ(Read(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(Read("\xFF\xFE"), "\xFF\xFE");
}

TEST_F(SecretFileTest, FileMayBeEmpty) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("\n"), "");
}

TEST_F(SecretFileTest, FileMayHaveAtMost64KiB) {
  EXPECT_EQ(Read(std::string(kMax, 'x')).size(), kMax);
  directory_.Write("large", std::string(kMax + 1, 'x'));
  EXPECT_THAT(ErrorOf("large"), HasError(ErrorCode::kSecretFile, "larger than 64 KiB"));
}

TEST_F(SecretFileTest, UnreadableFileIsNamed) {
  EXPECT_THAT(ErrorOf("missing"),
              HasError(ErrorCode::kSecretFile, "/missing: No such file or directory"));
  ASSERT_EQ(::mkdir(directory_.File("folder").c_str(), 0700), 0);
  EXPECT_THAT(ErrorOf("folder"), HasError(ErrorCode::kSecretFile, "/folder: Is a directory"));
  EXPECT_THAT(ReadSecretFile(""), HasError(ErrorCode::kSecretFile));
}

TEST_F(SecretFileTest, FileReadableByOthersIsRejected) {
  for (const mode_t mode : {0604u, 0602u, 0606u, 0666u}) {
    directory_.Write("open", "hunter2", mode);
    EXPECT_THAT(ErrorOf("open"), HasError(ErrorCode::kSecretFile, "by other users")) << mode;
    EXPECT_THAT(Explain(ErrorOf("open")), Not(HasSubstr("hunter2")));
  }
}

// Kubernetes makes a pod's secrets readable by its group.
TEST_F(SecretFileTest, FileMayBeReadableByTheGroup) {
  for (const mode_t mode : {0400u, 0440u, 0640u}) {
    EXPECT_THAT(ReadSecretFile(directory_.Write("s" + std::to_string(mode), "x", mode)), IsOk());
  }
}

// The mode of a symlink is ignored, as in a projected volume.
TEST_F(SecretFileTest, SymlinkIsJudgedByItsTarget) {
  directory_.Write("closed", "hunter2", 0400);
  ASSERT_EQ(::symlink("closed", directory_.File("link").c_str()), 0);
  EXPECT_EQ(ReadSecretFile(directory_.File("link"))->Reveal(), "hunter2");
  directory_.Write("open", "hunter2", 0644);
  ASSERT_EQ(::symlink("open", directory_.File("bad").c_str()), 0);
  EXPECT_THAT(ErrorOf("bad"), HasError(ErrorCode::kSecretFile, "by other users"));
}

// A pipe as created by the shell for <(command): content that arrives in pieces is read completely.
TEST_F(SecretFileTest, PipeIsReadToTheEnd) {
  const std::string secret(20'000, 'x');
  const testing::SlowPipe pipe(directory_.File("pipe"), secret + "\n");
  EXPECT_EQ(ReadSecretFile(pipe.path())->Reveal(), secret);
}

// A command runs while the unit is stopped.
TEST_F(SecretFileTest, MissingCredentialOfAUnitIsNamedAsSuch) {
  const auto secret = ReadSecretFile("/run/credentials/walrelay-none.service/postgres");
  EXPECT_THAT(secret, HasError(ErrorCode::kSecretFile, "No such file"));
  EXPECT_THAT(RemedyFor(secret.status()),
              HasSubstr("walrelay-none.service has this credential only while it runs"));
}

}  // namespace
}  // namespace walrelay

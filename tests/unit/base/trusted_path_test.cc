#include "base/trusted_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr uid_t kOther = 65534;

class TrustedPathTest : public ::testing::Test {
 protected:
  // A folder with these permissions below the temporary one; returns its path.
  std::string Folder(const std::string& name, mode_t mode = 0755) const {
    const std::string folder = directory_.File(name);
    std::filesystem::create_directories(folder);
    EXPECT_EQ(::chmod(folder.c_str(), mode), 0);
    return folder;
  }
  std::string File(const std::string& name, mode_t mode = 0644) const {
    return directory_.Write(name, "", mode);
  }
  std::string Link(const std::string& name, const std::string& target) const {
    const std::string link = directory_.File(name);
    std::filesystem::create_symlink(target, link);
    return link;
  }
  // Only root can give a file away.
  static bool GiveAway(const std::string& path) {
    return ::lchown(path.c_str(), kOther, kOther) == 0;
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(TrustedPathTest, OwnFileInOwnFolderIsTrusted) {
  Folder("a");
  EXPECT_THAT(CheckTrustedPath(File("a/file")), IsOk());
  EXPECT_THAT(CheckTrustedPath(directory_.path() + "/a/../a/./file"), IsOk());
  EXPECT_THAT(CheckTrustedPath("/etc/passwd"), IsOk());
}

TEST_F(TrustedPathTest, RelativePathBeginsInTheCurrentFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(Folder("shared", 0777));
  File("shared/file");
  EXPECT_THAT(CheckTrustedPath("file"), HasError(ErrorCode::kUntrustedFile, "shared is writable"));
  std::filesystem::current_path(before);
}

TEST_F(TrustedPathTest, FileThatOthersMayWriteIsNotTrusted) {
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    EXPECT_THAT(CheckTrustedPath(File("file", mode)),
                HasError(ErrorCode::kUntrustedFile, "file is writable by other users"));
  }
}

TEST_F(TrustedPathTest, EveryFolderOnTheWayCounts) {
  Folder("a");
  Folder("a/b");
  const std::string file = File("a/b/file");
  for (const mode_t mode : {0775u, 0757u, 0777u}) {
    Folder("a", mode);
    EXPECT_THAT(CheckTrustedPath(file), HasError(ErrorCode::kUntrustedFile, "a is writable"));
  }
  Folder("a");
  EXPECT_THAT(CheckTrustedPath(file), IsOk());
}

// As /tmp: others can add files there, but not exchange a folder of this user.
TEST_F(TrustedPathTest, StickyFolderMayBePassedButNotHoldTheFile) {
  Folder("sticky", 01777);
  Folder("sticky/own");
  EXPECT_THAT(CheckTrustedPath(File("sticky/own/file")), IsOk());
  EXPECT_THAT(CheckTrustedPath(File("sticky/file")),
              HasError(ErrorCode::kUntrustedFile, "sticky is writable"));
  std::filesystem::create_symlink("own", directory_.File("sticky/link"));
  EXPECT_THAT(CheckTrustedPath(directory_.File("sticky/link/file")),
              HasError(ErrorCode::kUntrustedFile, "sticky is writable"));
}

TEST_F(TrustedPathTest, FoldersOfEachLinkCount) {
  Folder("good");
  Folder("shared", 0777);
  File("good/file");
  File("shared/file");
  EXPECT_THAT(CheckTrustedPath(Link("to-good", "good/file")), IsOk());
  EXPECT_THAT(CheckTrustedPath(Link("to-shared", "shared/file")),
              HasError(ErrorCode::kUntrustedFile, "shared is writable"));
  // The last file is trusted, but others decide which file it is.
  Link("shared/hop", directory_.File("good/file"));
  EXPECT_THAT(CheckTrustedPath(Link("over", "shared/hop")),
              HasError(ErrorCode::kUntrustedFile, "shared is writable"));
  EXPECT_THAT(CheckTrustedPath(Link("up", "good/../shared/../shared/file")),
              HasError(ErrorCode::kUntrustedFile, "shared is writable"));
  EXPECT_THAT(CheckTrustedPath(Link("loop", "loop")), HasError(ErrorCode::kConfigFile, "loop"));
  EXPECT_THAT(CheckTrustedPath(Link("nowhere", "none")), HasError(ErrorCode::kConfigFile, "none"));
}

TEST_F(TrustedPathTest, OwnerMustBeRootOrThisUser) {
  Folder("a");
  const std::string file = File("a/file");
  const std::string link = Link("a/link", "file");
  if (!GiveAway(link)) {
    GTEST_SKIP() << "not root";
  }
  EXPECT_THAT(CheckTrustedPath(file), IsOk());
  EXPECT_THAT(CheckTrustedPath(link),
              HasError(ErrorCode::kUntrustedFile, "a/link belongs to user 65534"));
  GiveAway(file);
  EXPECT_THAT(CheckTrustedPath(file), HasError(ErrorCode::kUntrustedFile, "file belongs to user"));
  Folder("b");
  const std::string inner = File("b/file");
  GiveAway(directory_.File("b"));
  EXPECT_THAT(CheckTrustedPath(inner), HasError(ErrorCode::kUntrustedFile, "b belongs to user"));
}

TEST_F(TrustedPathTest, EntryOfANamedFolderBelongsToItsOwner) {
  const std::string folder = Folder("pipelines", 0777);
  const std::string file = File("pipelines/a.toml", 0664);
  EXPECT_THAT(CheckTrustedEntry(folder, file), IsOk());
  EXPECT_THAT(CheckTrustedEntry(folder, File("pipelines/b.toml", 0646)),
              HasError(ErrorCode::kUntrustedFile, "b.toml: the file is writable by other users"));
  EXPECT_THAT(CheckTrustedEntry(folder, folder + "/none"), HasError(ErrorCode::kConfigFile));
}

TEST_F(TrustedPathTest, EntryOfAnotherUserIsRefused) {
  const std::string folder = Folder("pipelines", 0777);
  const std::string file = File("pipelines/a.toml", 0664);
  if (!GiveAway(file)) {
    GTEST_SKIP() << "not root";
  }
  EXPECT_THAT(CheckTrustedEntry(folder, file),
              HasError(ErrorCode::kUntrustedFile, "the file belongs to user 65534"));
  const std::string link = Link("pipelines/c.toml", "/etc/passwd");
  GiveAway(link);
  EXPECT_THAT(CheckTrustedEntry(folder, link), HasError(ErrorCode::kUntrustedFile));
  GiveAway(folder);
  EXPECT_THAT(CheckTrustedEntry(folder, file), IsOk());
}

}  // namespace
}  // namespace walrelay

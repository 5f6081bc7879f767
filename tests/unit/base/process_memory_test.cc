#include "base/process_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using ::testing::Eq;
using ::testing::Optional;

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, std::string_view text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<uint64_t> Limit() const { return MemoryLimit(root_); }

  testing::TemporaryDirectory directory_;
  const std::string root_ = directory_.File("");
};

TEST_F(MemoryLimitTest, NoFilesMeanNoLimit) {
  EXPECT_THAT(Limit(), Eq(std::nullopt));
  Write("proc/self/cgroup", "0::/system.slice/walrelay.service\nrubbish\n");
  EXPECT_THAT(Limit(), Eq(std::nullopt));
}

TEST_F(MemoryLimitTest, LimitOfTheUnitOrOfAGroupAboveItApplies) {
  Write("proc/self/cgroup", "0::/system.slice/walrelay.service\n");
  Write("sys/fs/cgroup/system.slice/walrelay.service/memory.max", "max\n");
  EXPECT_THAT(Limit(), Eq(std::nullopt));
  Write("sys/fs/cgroup/system.slice/walrelay.service/memory.max", "3221225472\n");
  EXPECT_THAT(Limit(), Optional(3221225472U));
  Write("sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
  EXPECT_THAT(Limit(), Optional(1073741824U));
}

// With a cgroup namespace the group is "/"; without one the mount may still show only the group.
TEST_F(MemoryLimitTest, LimitOfAContainerIsAtTheTop) {
  Write("sys/fs/cgroup/memory.max", "268435456\n");
  Write("proc/self/cgroup", "0::/\n");
  EXPECT_THAT(Limit(), Optional(268435456U));
  Write("proc/self/cgroup", "0::/kubepods/pod1/abc\n");
  EXPECT_THAT(Limit(), Optional(268435456U));
}

TEST_F(MemoryLimitTest, VersionOneIsRead) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/docker/abc\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_THAT(Limit(), Eq(std::nullopt));
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n");
  EXPECT_THAT(Limit(), Optional(268435456U));
}

TEST(ResidentMemoryTest, GrowsWithWhatIsWritten) {
  const uint64_t before = ResidentMemory();
  EXPECT_GT(before, 1U << 20);
  const std::string block(32 << 20, 'x');
  EXPECT_GT(ResidentMemory(), before + (16U << 20));
  EXPECT_EQ(block.back(), 'x');
}

}  // namespace
}  // namespace walrelay

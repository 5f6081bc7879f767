#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

int Open() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}
bool IsOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFdTest, DestructorClosesTheDescriptor) {
  const int fd = Open();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(owner.valid());
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(UniqueFdTest, OwnsNothingByDefault) {
  EXPECT_FALSE(UniqueFd().valid());
  EXPECT_FALSE(UniqueFd(-1).valid());
}

TEST(UniqueFdTest, MoveAssignmentClosesTheOldDescriptor) {
  UniqueFd first(Open());
  UniqueFd second(Open());
  const int kept = first.get();
  const int closed = second.get();
  second = std::move(first);
  EXPECT_EQ(second.get(), kept);
  EXPECT_FALSE(first.valid());  // NOLINT: that it was moved from is the claim
  EXPECT_TRUE(IsOpen(kept));
  EXPECT_FALSE(IsOpen(closed));
}

}  // namespace
}  // namespace walrelay

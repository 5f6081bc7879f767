#include "base/read_to_end.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "base/unique_fd.h"
#include "fakes/slow_pipe.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

TEST(ReadToEndTest, PipeThatReturnsPiecesIsReadToItsEnd) {
  const testing::TemporaryDirectory directory;
  const std::string content(50'000, 'x');
  const testing::SlowPipe pipe(directory.path() + "/pipe", content);
  const UniqueFd file(::open(pipe.path().c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadToEnd(file.get(), 100'000), content);
}

TEST(ReadToEndTest, LimitIsNotExceeded) {
  const UniqueFd endless(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadToEnd(endless.get(), 10'000), std::string(10'000, '\0'));
}

TEST(ReadToEndTest, EmptyFileIsEmpty) {
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadToEnd(nothing.get(), 10), "");
}

TEST(ReadToEndTest, ErrorIsReported) {
  const UniqueFd folder(::open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadToEnd(folder.get(), 10), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
}

}  // namespace
}  // namespace walrelay

#include "base/stop_request.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace walrelay {
namespace {

bool IsReadable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(StopRequestTest, RequestsAreCounted) {
  StopRequest stop;
  EXPECT_FALSE(IsReadable(stop.fd()));
  EXPECT_FALSE(stop.Take());
  stop.Request();
  stop.Request();
  EXPECT_TRUE(IsReadable(stop.fd()));
  EXPECT_TRUE(stop.Take());
  EXPECT_TRUE(IsReadable(stop.fd()));
  EXPECT_TRUE(stop.Take());
  EXPECT_FALSE(stop.Take());
  EXPECT_FALSE(IsReadable(stop.fd()));
}

}  // namespace
}  // namespace walrelay

#include "base/loopback.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(LoopbackTest, LoopbackAddressesAreRecognized) {
  for (const char* host : {"localhost", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
}

TEST(LoopbackTest, NamesThatOnlyLookLikeLoopbackAreNot) {
  for (const char* host : {"", "127", "127.0.0.1.example.com", "127.example.com", "localhost.com",
                           "128.0.0.1", "10.0.0.1", "0.0.0.0", "::", "::2", "[::1]", "::1%lo"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace walrelay

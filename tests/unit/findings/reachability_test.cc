#include "findings/reachability.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/status/status.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class ReachabilityTest : public ::testing::Test {
 protected:
  ReachabilityTest() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }

  const UniqueFd socket_;  // bound, not listening
  std::string port_;
};

TEST_F(ReachabilityTest, ListeningAddressIsReached) {
  ASSERT_EQ(::listen(socket_.get(), 5), 0);
  for (const char* host : {"127.0.0.1:", "localhost:"}) {
    const auto reached = Reach(host + port_, seconds(10));
    ASSERT_TRUE(reached.ok()) << host << reached.status();
    EXPECT_TRUE(reached->valid());
  }
}

TEST_F(ReachabilityTest, RefusedConnectionIsReported) {
  const auto reached = Reach("127.0.0.1:" + port_, seconds(10));
  EXPECT_TRUE(absl::IsUnavailable(reached.status()));
  EXPECT_EQ(reached.status().message(), "Connection refused");
}

TEST_F(ReachabilityTest, InvalidAddressIsReported) {
  EXPECT_EQ(Reach("127.0.0.1", seconds(1)).status().message(), "the address has no port");
  const auto reached = Reach("127.0.0.1:port", seconds(1));
  EXPECT_EQ(reached.status().message().find("cannot resolve the name"), 0u);
}

}  // namespace
}  // namespace walrelay

#include "http/listen_address.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(ListenAddressTest, ClientsUseLoopbackForEveryAddress) {
  for (const char* listen : {":80", "0.0.0.0:80", "127.0.0.1:80", "localhost:80"}) {
    const auto address = ListenAddress::Parse(listen);
    ASSERT_TRUE(address) << listen;
    const ListenAddress clients = address->ForClients();
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(clients.get());
    EXPECT_EQ(v4->sin_addr.s_addr, htonl(INADDR_LOOPBACK)) << listen;
    EXPECT_EQ(v4->sin_port, htons(80));
  }
  const auto v6 = ListenAddress::Parse("[::]:80");
  ASSERT_TRUE(v6);
  const ListenAddress clients = v6->ForClients();
  EXPECT_TRUE(clients.is_v6());
  EXPECT_TRUE(
      IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(clients.get())->sin6_addr));
}

TEST(ListenAddressTest, InvalidAddressesAreRefused) {
  for (const char* listen : {"", "80", "host:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000",
                             "127.0.0.1:8x", "[::1]", "::1:80"}) {
    EXPECT_FALSE(ListenAddress::Parse(listen)) << listen;
  }
}

}  // namespace
}  // namespace walrelay

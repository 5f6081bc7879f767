#include "http/host_header.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr std::string_view kOwnName = "db1.example.com";

TEST(HostHeaderTest, AddressesAndLocalNamesNameThisMachine) {
  for (const char* host :
       {"", "127.0.0.1", "127.0.0.1:9464", "10.1.2.3:9464", "[::1]", "[::1]:9464", "localhost",
        "LocalHost:9464", "localhost.", "walrelay:9464", "relay.localhost", "host.docker.internal",
        "walrelay.shop.svc.cluster.local:9464", "db1.example.com", "DB1.example.com.:9464"}) {
    EXPECT_TRUE(NamesThisMachine(host, kOwnName)) << host;
  }
}

TEST(HostHeaderTest, PublicNamesDoNotNameThisMachine) {
  for (const char* host : {"evil.example.com",
                           "evil.example.com:9464",
                           "example.com",
                           "db1.example.com.evil.net",
                           "127.0.0.1.evil.net",
                           "evil.net.",
                           "localhost.evil.net",
                           "local.evil.net",
                           "xn--a.example",
                           ":9464",
                           ".",
                           "[::1",
                           "[evil.net]",
                           "::1",
                           "256.1.1.1",
                           "db2.example.com",
                           "a.locale",
                           "printer.local",
                           "evil.corp.internal:9464",
                           "ip-10-0-0-1.eu-west-1.compute.internal",
                           "evil.docker.internal",
                           "cluster.local",
                           "evil.cluster.local",
                           "xsvc.cluster.local"}) {
    EXPECT_FALSE(NamesThisMachine(host, kOwnName)) << host;
  }
}

TEST(HostHeaderTest, MachineWithoutANameMatchesNoName) {
  EXPECT_FALSE(NamesThisMachine("evil.example.com", ""));
  EXPECT_FALSE(NamesThisMachine(":1", ""));
}

}  // namespace
}  // namespace walrelay

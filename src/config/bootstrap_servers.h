// The entries of kafka.bootstrap_servers.
//
// Pure function. Source: librdkafka, bootstrap.servers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

// "host:port" of each server, with Kafka's default port if none is given: "SSL://kafka, b:9093" is
// kafka:9092 and b:9093. Empty entries are left out.
std::vector<std::string> BootstrapAddresses(std::string_view servers);

}  // namespace walrelay

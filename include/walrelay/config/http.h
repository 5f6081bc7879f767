// [http]: the listener for probes, metrics and the status page.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <string>

namespace walrelay {

// No TLS and no authentication: meant for loopback or the inside of a pod.
struct HttpConfig {
  std::string listen = "127.0.0.1:9464";  // "": no HTTP
  bool row_data = true;                   // the pages show ids and keys of rows

  bool operator==(const HttpConfig&) const = default;
};

}  // namespace walrelay

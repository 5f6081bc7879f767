// PipelineIdentity: which database and slot a pipeline publishes.
//
// Every series, log line, status and alert names both, so that an operator of many databases sees
// which one is down. Derived from the configuration by IdentityOf() (postgres/).
#pragma once

#include <compare>
#include <string>

namespace walrelay {

// Two pipelines with the same identity are instances of one: the active one and its standbys.
// Neither text contains a user name or a password.
struct PipelineIdentity {
  std::string source;  // source.name, or "host/database"
  std::string slot;

  friend auto operator<=>(const PipelineIdentity&, const PipelineIdentity&) = default;
};

}  // namespace walrelay

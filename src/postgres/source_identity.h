// The identity of the pipeline that reads a source: what its metrics, logs, status and alerts call
// it.
#pragma once

#include "absl/status/status.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

struct SourceConfig;

// Whether IdentityOf() has a source name that source.name could have, or brackets for an IPv6
// address. Errors: WR-1003, which does not repeat the name.
absl::Status CheckSourceName(const SourceConfig& source);

// The identity of the pipeline that reads `source`: source.name, or "host/database" of the DSN, and
// the slot. Contains no user name and no password, except that a database without a name is called
// like the user, as libpq does.
//
// If the DSN has several hosts, which are one cluster, the first is used; ":port" follows unless it
// is 5432. A Unix socket and a loopback address are named after this machine: "localhost" would be
// the same name on each machine, and an alert would take a healthy database there for this one. The
// file of a service is not read: its name stands for the host. "?" for an invalid DSN.
PipelineIdentity IdentityOf(const SourceConfig& source);

}  // namespace walrelay

// Reads the identity of the publication and of the outbox tables from the catalog, on any
// connection that does not stream.
//
// The catalog is read in several queries, each with its own snapshot. The position of the WAL is
// read around them: rows committed before `before` were read, and nothing committed after `after`.
#pragma once

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config.h"
#include "walrelay/publication_identity.h"

namespace walrelay {

// `wal_before`: a position that the server's WAL had reached before this call.
absl::StatusOr<PublicationState> ReadPublicationState(PgConnection& connection,
                                                      const SourceConfig& source, Lsn wal_before,
                                                      Micros timeout);

}  // namespace walrelay

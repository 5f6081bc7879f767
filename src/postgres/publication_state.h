// Reads the identity of the publication and of the outbox tables from the catalog, on any
// connection that does not stream.
//
// The catalog is read in several queries, each with its own snapshot. The position of the WAL is
// read around them: rows committed before `before` were read, and nothing committed after `after`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/publication_identity.h"

namespace walrelay {

struct SourceConfig;

// `wal_before`: a position that the server's WAL had reached before this call.
absl::StatusOr<PublicationState> ReadPublicationState(PgConnection& connection,
                                                      const SourceConfig& source, Lsn wal_before,
                                                      Micros timeout);

// A table of the publication, and the xid that made it one.
struct RecentMember {
  std::string name;  // schema.table
  uint32_t joined_by = 0;
};

// The parts of a publication that may be newer than the position of a slot. Decoding looks up the
// publication and its tables as of the position that it decodes: where they were not part of it,
// their rows are not sent.
struct RecentChanges {
  bool publication = false;  // the server notices this while it decodes: WR-2306, WR-2307
  std::vector<RecentMember> tables;
};

// Compares with the catalog_xmin of the slot: every transaction with a lower xid ended before the
// position; of the others, some did. A new slot inherits the catalog_xmin of an older one, which
// then says nothing about its position: nothing is returned. On any connection that does not
// stream.
absl::StatusOr<RecentChanges> ReadRecentChanges(PgConnection& connection, const std::string& slot,
                                                const PublicationIdentity& publication,
                                                Micros timeout);

}  // namespace walrelay

// PruneProof: which rows of one server are proven to be published, and how statements recognize
// that server.
//
// A process may be suspended between a decision and its statement, and a connection may reach a
// server that was promoted or restored meanwhile. Every statement that deletes, marks or drops
// therefore contains IsServerOf(): see decision 0021.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stream/published_proof.h"
#include "stream/published_xids.h"

namespace walrelay {

struct SourceConfig;

// REQUIRES of its creator: `xids` are those of PublishedXidsOf() for this server and timeline, by
// progress that the brokers have acknowledged.
struct PruneProof {
  PublishedXids xids;
  std::string system_id;
  uint32_t timeline = 0;
  // The walsender that reads the slot: a server that was promoted has another one, or none.
  int backend_pid = 0;
  // A server that was restored was started later, also if a process has the same pid by now.
  WallTime server_started;
  std::string slot;
};

// The relay's proof, for the rows of the server that it streams from. nullopt: nothing is proven.
std::optional<PruneProof> ProofForPruning(const std::optional<PublishedProof>& published,
                                          const SourceConfig& source);

// The same proof, if the operator knows that all rows from before it are published, too.
PruneProof IncludeOlderRows(PruneProof proof);

// A condition in SQL: whether the server has the timeline of the proof, runs since the time of the
// proof and has assigned its xids, and whether the walsender of the proof reads the slot there. It
// does not compare the system, which cannot change while a connection lasts.
std::string IsServerOf(const PruneProof& proof);

}  // namespace walrelay

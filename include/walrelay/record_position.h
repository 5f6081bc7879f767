// RecordPosition: where an event comes from, as its record carries it in the header "wr-pos" with
// pipeline.mode = "topics".
//
// After a start, the last position in each partition shows which events the partition already has.
// That holds only for positions of the same WAL, and only while topic, key and partition of an
// event are computed in the same way; both are part of the header.
#pragma once

#include <cstdint>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"

namespace walrelay {

// Position, xid and commit time together identify the transaction: see PublishedTransaction.
struct RecordPosition {
  Position position;
  uint32_t xid = 0;  // of its transaction
  WallTime commit_time;
  uint64_t history = 0;  // HistoryId(): the WAL that the position belongs to
  uint32_t routing = 0;  // a digest of the settings that determine which record an event becomes

  friend bool operator==(const RecordPosition&, const RecordPosition&) = default;
};

// The WAL that is being read, as the ids of its timelines. Each part ends where the next timeline
// branched off.
struct WalHistory {
  struct Part {
    uint64_t id = 0;
    Lsn end;
  };

  std::vector<Part> parts;  // not empty; the current timeline last
  uint32_t routing = 0;     // of this process
  // Transactions that commit before it are published, and not sent again; 0/0: unknown.
  Lsn unpublished = {};

  uint64_t current() const { return parts.back().id; }
};

}  // namespace walrelay

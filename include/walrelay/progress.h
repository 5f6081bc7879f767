// Progress: what a pipeline has published, as recorded in its progress topic.
//
// The record makes the memory of a relay outlive its process: a restarted relay compares server and
// slot with it before it publishes anything. The slot is confirmed only up to the recorded
// frontier, so the record is never behind the slot. Published contract:
// walrelay/progress/v1/progress.proto.
//
// Plain data, and the seam through which the relay reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/error.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/publication_identity.h"
#include "walrelay/published_transaction.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

// Topics with this prefix are walrelay's own. No row may address one: see CheckRowTopic().
inline constexpr std::string_view kProgressTopicPrefix = "walrelay.progress.";

// A transaction whose first rows are published. Only with pipeline.mode = "exactly_once", where
// a large transaction is committed to Kafka in several parts.
struct PartialTransaction {
  PublishedTransaction transaction;
  // The last one of these rows: see Position.
  Lsn row_lsn;
  uint32_t row_index = 0;

  Position last_row() const { return {transaction.commit_lsn, row_lsn, row_index}; }
  bool valid() const { return transaction.valid(); }
  friend bool operator==(const PartialTransaction&, const PartialTransaction&) = default;
};

// A gap that is held until an operator accepts it: see Gap.
struct HeldGap {
  ErrorCode code{};    // with the reaction kGap
  std::string id;      // as the operator types it
  std::string reason;  // the message of the error
  Lsn from;
  Lsn to;

  friend bool operator==(const HeldGap&, const HeldGap&) = default;
};

// The publication when a relay last read it without a problem. A record leaves out the leaves of
// the tables, and PublicationState::after.
struct SeenPublication {
  std::string name;
  PublicationState state;
};

// One version of the record.
struct Progress {
  std::string pipeline;  // pipeline.id, the record's key
  // The server and the slot that the positions belong to.
  std::string system_id;
  uint32_t timeline = 0;
  std::vector<TimelineEnd> ancestors;
  std::string database;
  uint32_t database_oid = 0;  // 0: unknown, in a record of an earlier version
  std::string slot;
  std::string cluster_id;  // of Kafka, whose topics have the events; "": unknown
  // The number of gaps that operators have accepted. Positions before and after an acceptance are
  // not comparable: a restored server may be far behind the last frontier.
  uint64_t generation = 0;
  // The gap that was found in this generation: no instance publishes until an operator has accepted
  // it, which begins the next one. nullopt: none is held.
  std::optional<HeldGap> held;
  // All events of transactions that committed before it are in the topics.
  Lsn frontier;
  // Events of transactions that committed before it are published; behind it, up to the frontier,
  // there were none. The frontier, in a record that an operator wrote. 0/0 where nothing is known
  // of earlier events: without a record before, or after an accepted gap. Then what the slot's
  // position shows again is published again.
  Lsn settled_before;
  PublishedTransaction last;  // the last one with events before the frontier
  // No transaction whose events are published committed later, by the clock of the server that it
  // committed on. The largest time: unknown, in a record of an earlier version or of an operator.
  WallTime latest_commit = WallTime::max();
  PartialTransaction partial;        // some of its rows are published, behind the frontier
  std::vector<XidHorizon> horizons;  // that the frontier has passed, the oldest first
  // The horizons say nothing about rows whose xmin is less: they may be older than the slot, or
  // lost in an accepted gap. Not valid: unknown, and the horizons prove nothing.
  XidStart published_from;
  // PublicationFingerprint() of the publication that the horizons hold for; 0: unknown.
  uint64_t publication = 0;
  // A later reading is compared with it: see HidingChange(). nullopt: unknown.
  std::optional<SeenPublication> seen_publication;
  std::string run_id;     // random, of the relay that wrote it
  uint64_t sequence = 0;  // of the record in that run, from 1
  WallTime written;
  std::string version;  // of walrelay

  // The key by which two versions of a record are compared: the later version has the greater key.
  // A relay that was replaced may write its last version late, so the order in the topic does not
  // count.
  // If the server is restored to a state between the last transaction and the frontier, the
  // frontier stays the same: then the transaction decides.
  auto Order() const {
    return std::tuple(generation, timeline, frontier, last.commit_lsn, partial.last_row());
  }

  // Another version was read behind this one: the greater of both counts, the other one if they are
  // equal. A gap that was found in this generation is held, whatever an instance that does not know
  // of it records.
  void Add(const Progress& next) {
    const bool greater = next.Order() >= Order();
    const bool same = next.generation == generation;
    const Progress& other = greater ? *this : next;
    const std::optional<HeldGap> also = same ? other.held : std::nullopt;
    if (greater) {
      *this = next;
    }
    held = held ? held : also;
  }
};

// Adds a version that was read to those before; `record` is nullopt before the first one.
inline void AddVersion(std::optional<Progress>& record, const Progress& next) {
  if (record) {
    record->Add(next);
  } else {
    record = next;
  }
}

// Where the record of a pipeline is.
struct ProgressAddress {
  std::string topic;
  std::string pipeline;  // pipeline.id: the key of its records

  bool operator==(const ProgressAddress&) const = default;
};

// The contents of a progress topic.
struct ProgressReading {
  // The version of the pipeline's record that counts: see Progress::Add(). nullopt: there is none.
  std::optional<Progress> record;
  // The latest records of other pipelines, one for each, at most sixteen.
  std::vector<Progress> others;
  // Records that no pipeline has written: their key or their header is missing, or their value is
  // unreadable. They are ignored.
  uint64_t foreign = 0;
  std::string foreign_example;  // where one of them is, and why it is foreign
  std::string cluster_id;       // of Kafka; "": unknown
};

// The progress topic. Used on the relay's thread only.
class ProgressTopic {
 public:
  virtual ~ProgressTopic() = default;

  // Creates the topic if it does not exist. A record is the pipeline's if it has the pipeline's key
  // and the header of the format; all others are ignored, and described by the result. Blocks as
  // long as brokers send records, and returns early with kCancelled when the process has a request
  // to stop. Errors: WR-4001, WR-4007; WR-4015 for a topic with unsuitable settings, WR-4016 if the
  // user may not read, write or create it, WR-4017 for a record of the pipeline that this version
  // cannot read.
  virtual absl::StatusOr<ProgressReading> Read(const ProgressAddress& address) = 0;

  // The same, but creates nothing: WR-4018 if the topic does not exist.
  virtual absl::StatusOr<ProgressReading> ReadExisting(const ProgressAddress& address) {
    return Read(address);
  }

  // The records of other pipelines in the default topics of pipelines with this slot: after the
  // database was renamed, its record is in the topic with the earlier name. Empty if none is found
  // or readable. Blocks as Read() does.
  virtual std::vector<Progress> ReadOfSlot(std::string_view /*slot*/) { return {}; }

  // Whether every transaction that has written to the topic has ended. If not, Read() may return a
  // version before the newest one. Blocks and fails as Read() does.
  virtual absl::StatusOr<bool> IsSettled(const std::string& /*topic*/) { return true; }

  // Writes a version of the record, outside of any transaction, and waits for its acknowledgement.
  // An error may leave it written. Blocks for as long as a relay may be silent, and returns early
  // as Read() does. REQUIRES: Read() of this address has succeeded. Errors: WR-4001, WR-4006,
  // WR-4007, WR-4008; WR-4016 if the user may not write to the topic.
  virtual absl::Status Write(const ProgressAddress& address, const Progress& record) = 0;
};

}  // namespace walrelay

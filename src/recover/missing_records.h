// MissingRecords: which of the records of a recovery the topics do not have yet.
//
// Also counts records in the topics that come from rows behind a missing one of the same key: their
// order cannot be kept. REQUIRES: records come in the order of their events.
//
// Not thread-safe.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "recover/published_records.h"
#include "walrelay/record.h"

namespace walrelay {

class MissingRecords {
 public:
  // Bounds the memory: what overtook further keys is not counted.
  static constexpr size_t kMostKeys = 500'000;

  // `published` must outlive it.
  explicit MissingRecords(PublishedRecords& published) : published_(published) {}

  // Errors: those of PublishedRecords::Contains().
  absl::StatusOr<bool> IsMissing(const Record& record);

  uint64_t overtaken() const { return overtaken_; }

 private:
  PublishedRecords& published_;
  absl::flat_hash_set<uint64_t> missing_keys_;  // hashes of topic and key
  uint64_t overtaken_ = 0;
};

}  // namespace walrelay

#include "recover/missing_records.h"

#include "base/fnv.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Only for a count in a report: collisions do not matter.
uint64_t HashOfKey(const Record& record) {
  Fnv64 hash;
  hash.Add(record.topic);
  hash.Add(record.key.value_or(""));
  return hash.value();
}

}  // namespace

absl::StatusOr<bool> MissingRecords::IsMissing(const Record& record) {
  WR_ASSIGN_OR_RETURN(const bool found, published_.Contains(record));
  if (record.key && found) {
    overtaken_ += missing_keys_.contains(HashOfKey(record)) ? 1u : 0u;
  } else if (record.key && missing_keys_.size() < kMostKeys) {
    missing_keys_.insert(HashOfKey(record));
  }
  return !found;
}

}  // namespace walrelay

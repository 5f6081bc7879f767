#include "outbox/row_classes.h"

#include <algorithm>

namespace walrelay {
namespace {

// Postgres shows the low 32 bits of an xmin, and compares them modulo 2^31.
constexpr uint64_t kLongestAge = uint64_t{1} << 31;

bool IsComparable(uint64_t xid, const XidReading& reading) {
  return xid <= reading.next.xid && reading.next.xid - xid < kLongestAge;
}

}  // namespace

RowClasses RowClassesOf(const Progress& proof, const XidReading& reading) {
  if (proof.system_id != reading.system_id || proof.timeline != reading.timeline) {
    return {};
  }
  RowClasses classes{.all_published = proof.frontier >= reading.horizon.insert_lsn};
  if (!proof.published_from.valid() || proof.horizons.empty()) {
    return classes;
  }
  const uint64_t newest = proof.horizons.back().xid;
  if (IsComparable(newest, reading)) {
    classes.unpublished_from = newest;
  }
  const uint64_t oldest = std::min(proof.published_from.xid, newest);
  if (IsComparable(oldest, reading)) {
    classes.unproven_before = oldest;
  }
  return classes;
}

}  // namespace walrelay

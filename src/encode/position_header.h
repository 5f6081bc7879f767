// The header "wr-pos" of a record: the position of its event. 48 bytes, numbers in network byte
// order: commit LSN (8), row LSN (8), index (4), xid (4), commit time (8), history (8), routing
// (4), partitions (4).
//
// Published contract: docs/guides/progress.md. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "walrelay/record_position.h"

namespace walrelay {

inline constexpr std::string_view kPositionHeader = "wr-pos";
inline constexpr size_t kPositionHeaderBytes = 48;

// Where a record is stored. `partitions`: of the topic, when the partition was chosen.
struct RecordPlace {
  std::string_view topic;
  int32_t partition = 0;
  uint32_t partitions = 0;
};

// The place is mixed into the routing: a consumer that copies headers to another topic, or to
// another partition, does not make events appear stored there.
std::array<char, kPositionHeaderBytes> EncodePosition(const RecordPosition& position,
                                                      const RecordPlace& place);

struct StoredPosition {
  RecordPosition record;
  uint32_t partitions = 0;
};

// The position of a record that was read at `place`; `place.partitions` is ignored. nullopt: the
// header is not walrelay's.
std::optional<StoredPosition> DecodePosition(std::string_view header, const RecordPlace& place);

}  // namespace walrelay

// SimPartition: the records of one partition, with their position headers.
//
// Only the last ones are kept: more than a relay reads of an end.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "encode/position_header.h"
#include "walrelay/record_position.h"

namespace walrelay::sim {

// The header "wr-pos" of a record, and what it was made of.
struct PositionHeader {
  std::array<char, kPositionHeaderBytes> bytes{};
  RecordPosition record;
  uint32_t partitions = 0;
};

struct StoredRecord {
  int event;  // kNoEvent: of another producer
  std::optional<PositionHeader> header;
};

struct SimPartition {
  static constexpr size_t kKept = 400;

  void Add(const StoredRecord& record) {
    records.push_back(record);
    ++end;
    if (records.size() > kKept) {
      records.pop_front();
    }
  }
  int64_t begin() const { return end - static_cast<int64_t>(records.size()); }
  // REQUIRES: begin() <= offset < end.
  const StoredRecord& at(int64_t offset) const {
    return records[static_cast<size_t>(offset - begin())];
  }

  std::deque<StoredRecord> records;
  int64_t end = 0;
  int epoch = 0;                               // grows when records are lost
  std::map<uint64_t, uint32_t> next_sequence;  // by producer
  // Too few replicas are in sync: from here on records may be lost.
  struct Replicated {
    int64_t end = 0;
    std::map<uint64_t, uint32_t> next_sequence;
  };
  std::optional<Replicated> replicated;
};

}  // namespace walrelay::sim

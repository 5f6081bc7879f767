// HeldRow: a row of an outbox table that owns its bytes, until the brokers have acknowledged its
// record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pgoutput/message.h"
#include "route/outbox_row.h"
#include "walrelay/clock.h"

namespace walrelay {

class HeldRow {
 public:
  // Copies the values. The relation must outlive the object.
  explicit HeldRow(const OutboxRow& row);

  HeldRow(HeldRow&&) = default;
  HeldRow& operator=(HeldRow&&) = default;

  // Views of this object; a move does not invalidate them.
  OutboxRow row() const {
    return {.relation = *relation_, .values = values_, .xid = xid_, .commit_time = commit_time_};
  }
  size_t bytes() const { return size_; }

 private:
  const pgoutput::CachedRelation* relation_;
  std::unique_ptr<char[]> bytes_;  // not a string, whose move may move the bytes
  size_t size_ = 0;
  std::vector<pgoutput::TupleValue> values_;
  uint64_t xid_;
  std::optional<WallTime> commit_time_;
};

}  // namespace walrelay

#include "publish/held_row.h"

#include <cstring>

namespace walrelay {

HeldRow::HeldRow(const OutboxRow& row)
    : relation_(&row.relation), xid_(row.xid), commit_time_(row.commit_time) {
  for (const pgoutput::TupleValue& value : row.values) {
    size_ += value.bytes.size();
  }
  bytes_ = std::make_unique<char[]>(size_);
  char* end = bytes_.get();
  values_.reserve(row.values.size());
  for (const pgoutput::TupleValue& value : row.values) {
    const size_t size = value.bytes.size();
    if (size > 0) {
      std::memcpy(end, value.bytes.data(), size);
    }
    values_.push_back({.kind = value.kind, .bytes = {end, size}});
    end += size;
  }
}

}  // namespace walrelay

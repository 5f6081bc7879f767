#include "encode/position_header.h"

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/endian.h"
#include "base/fnv.h"

namespace walrelay {
namespace {

// Appends a number; returns the end.
template <typename T>
char* Put(char* out, T value) {
  StoreBigEndian(value, out);
  return out + sizeof(T);
}

// Mixed in by XOR, which is its own inverse.
uint32_t DigestOf(const RecordPlace& place) {
  Fnv64 digest;
  digest.Add(place.topic);
  const auto partition = static_cast<uint32_t>(place.partition);
  return static_cast<uint32_t>(digest.value() ^ (digest.value() >> 32)) ^ partition * 0x9E3779B1;
}

}  // namespace

std::array<char, kPositionHeaderBytes> EncodePosition(const RecordPosition& position,
                                                      const RecordPlace& place) {
  std::array<char, kPositionHeaderBytes> header;
  char* out = header.data();
  out = Put(out, position.position.commit_lsn.value());
  out = Put(out, position.position.row_lsn.value());
  out = Put(out, position.position.index);
  out = Put(out, position.xid);
  out = Put(out, position.commit_time.time_since_epoch().count());
  out = Put(out, position.history);
  out = Put(out, position.routing ^ DigestOf(place));
  out = Put(out, place.partitions);
  WR_CHECK(out == header.data() + header.size(), "the header is complete");
  return header;
}

std::optional<StoredPosition> DecodePosition(std::string_view header, const RecordPlace& place) {
  ByteReader reader(header);
  StoredPosition stored;
  uint64_t commit_lsn = 0;
  uint64_t row_lsn = 0;
  uint32_t index = 0;
  int64_t commit_time = 0;
  const bool complete = reader.Read(commit_lsn) && reader.Read(row_lsn) && reader.Read(index) &&
                        reader.Read(stored.record.xid) && reader.Read(commit_time) &&
                        reader.Read(stored.record.history) && reader.Read(stored.record.routing) &&
                        reader.Read(stored.partitions);
  if (!complete || !reader.at_end()) {
    return std::nullopt;
  }
  stored.record.routing ^= DigestOf(place);
  stored.record.commit_time = WallTime(Micros(commit_time));
  stored.record.position = {Lsn(commit_lsn), Lsn(row_lsn), index};
  return stored;
}

}  // namespace walrelay

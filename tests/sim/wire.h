// Offsets in the messages of the simulated stream, for test code. The relay has its own decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/endian.h"
#include "outbox.h"
#include "walrelay/lsn.h"

namespace walrelay::sim {

constexpr size_t kDataStart = 1;     // of XLogData: the position of the payload
constexpr size_t kDataPayload = 25;  // of XLogData
constexpr size_t kKeepaliveEnd = 1;  // of a keepalive: wal_end
constexpr size_t kCommitEnd = kDataPayload + 10;
constexpr char kGarbledType = 'Z';
// Represents the warning of Postgres 18, which is not a message of the stream.
constexpr std::string_view kPublicationWarning = "N";

inline Lsn LsnAt(std::string_view bytes, size_t offset) {
  return Lsn(LoadBigEndian<uint64_t>(bytes.data() + offset));
}

// 'k', or the type of the message within XLogData.
inline char TypeOf(std::string_view message) {
  return message[0] == 'w' && message.size() > kDataPayload ? message[kDataPayload] : message[0];
}

inline bool DescribesOutbox(std::string_view message) {
  return TypeOf(message) == 'R' &&
         LoadBigEndian<uint32_t>(message.data() + kDataPayload + 1) == kOutboxOid;
}

}  // namespace walrelay::sim

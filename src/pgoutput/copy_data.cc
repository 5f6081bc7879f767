#include "pgoutput/copy_data.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "base/endian.h"
#include "base/text.h"
#include "pgoutput/wire_types.h"
#include "walrelay/error.h"

namespace walrelay::pgoutput {
namespace {

// The positions are read to get past them; see XLogData.
bool Decode(ByteReader& in, XLogData& out) {
  Lsn end;
  return ReadLsn(in, out.start) && ReadLsn(in, end) && ReadTimestamp(in, out.sent) &&
         in.ReadBytes(in.remaining(), out.payload);
}

bool Decode(ByteReader& in, Keepalive& out) {
  uint8_t reply = 0;
  if (!ReadLsn(in, out.wal_end) || !ReadTimestamp(in, out.sent) || !in.Read(reply)) {
    return false;
  }
  out.reply_requested = reply != 0;
  // Excess bytes are an error, as for every message.
  return in.at_end();
}

}  // namespace

// Types other than 'w' and 'k' do not exist in this direction.
absl::StatusOr<CopyData> DecodeCopyData(std::string_view bytes) {
  ByteReader in(bytes);
  char type = 0;
  CopyData data;
  const bool read = in.Read(type) && ((type == 'w' && Decode(in, data.emplace<XLogData>())) ||
                                      (type == 'k' && Decode(in, data.emplace<Keepalive>())));
  if (!read) {
    return Error(ErrorCode::kProtocolViolation,
                 fmt::format("invalid CopyData message of type '{}' with {} bytes",
                             Printable({&type, 1}), bytes.size()));
  }
  return data;
}

// A flushed position of 0/0 confirms nothing (ProcessStandbyReplyMessage).
std::array<char, kStandbyStatusSize> EncodeStandbyStatus(const StandbyStatus& status) {
  std::array<char, kStandbyStatusSize> out{};
  out[0] = 'r';
  StoreBigEndian(status.received.value(), &out[1]);  // written
  StoreBigEndian(status.flushed.value(), &out[9]);   // flushed
  StoreBigEndian(status.flushed.value(), &out[17]);  // applied
  StoreBigEndian(ToPostgresTime(status.now), &out[25]);
  out[33] = status.reply_requested ? 1 : 0;
  return out;
}

}  // namespace walrelay::pgoutput

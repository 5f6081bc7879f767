// The framing of a stream: any bytes as what a server might put into CopyData. Compared with the
// protocol's own words, read here byte by byte.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "pgoutput/copy_data.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kXLogDataHeader = 1 + 8 + 8 + 8;
constexpr size_t kKeepaliveSize = 1 + 8 + 8 + 1;

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes.substr(0, 8)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

// The end of both headers but for a flag; WallTime cannot hold all that 64 bits can.
bool IsTime(std::string_view bytes) {
  constexpr int64_t kFrom1970To2000 = 946'684'800'000'000;
  return static_cast<int64_t>(BigEndian(bytes)) <= INT64_MAX - kFrom1970To2000;
}

bool IsXLogData(std::string_view frame) {
  return frame.size() >= kXLogDataHeader && frame.front() == 'w' && IsTime(frame.substr(17));
}

bool IsKeepalive(std::string_view frame) {
  return frame.size() == kKeepaliveSize && frame.front() == 'k' && IsTime(frame.substr(9));
}

void CheckKeepalive(std::string_view frame, const pgoutput::Keepalive& keepalive) {
  WR_CHECK(IsKeepalive(frame), "it is one");
  WR_CHECK(keepalive.wal_end.value() == BigEndian(frame.substr(1)), "its position is the first");
  WR_CHECK(keepalive.reply_requested == (frame.back() != 0), "its last byte asks for a reply");
  const auto status = pgoutput::EncodeStandbyStatus(
      {.received = keepalive.wal_end, .flushed = Lsn(), .now = keepalive.sent});
  WR_CHECK(BigEndian({&status[1], 8}) == keepalive.wal_end.value(), "an answer names it");
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  const auto decoded = pgoutput::DecodeCopyData(frame);
  if (!decoded.ok()) {
    WR_CHECK(HasCode(decoded.status(), ErrorCode::kProtocolViolation), "bad bytes are a violation");
    WR_CHECK(!IsXLogData(frame) && !IsKeepalive(frame), "good bytes are not");
  } else if (const auto* xlog_data = std::get_if<pgoutput::XLogData>(&*decoded)) {
    WR_CHECK(IsXLogData(frame), "it is one");
    WR_CHECK(xlog_data->payload == frame.substr(kXLogDataHeader), "all of the payload, in place");
  } else {
    CheckKeepalive(frame, std::get<pgoutput::Keepalive>(*decoded));
  }
  return 0;
}

// Decodes arbitrary bytes as CopyData. Compares the decoder with an independent byte-by-byte check
// of the protocol.

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

bool IsXLogData(std::string_view frame) {
  return frame.size() >= kXLogDataHeader && frame.front() == 'w';
}

bool IsKeepalive(std::string_view frame) {
  return frame.size() == kKeepaliveSize && frame.front() == 'k';
}

void CheckKeepalive(std::string_view frame, const pgoutput::Keepalive& keepalive) {
  WR_CHECK(IsKeepalive(frame), "the frame is a keepalive");
  WR_CHECK(keepalive.wal_end.value() == BigEndian(frame.substr(1)), "wal_end is the first field");
  WR_CHECK(keepalive.reply_requested == (frame.back() != 0), "the last byte requests a reply");
  const auto status = pgoutput::EncodeStandbyStatus(
      {.received = keepalive.wal_end, .flushed = Lsn(), .now = keepalive.sent});
  WR_CHECK(BigEndian({&status[1], 8}) == keepalive.wal_end.value(),
           "a status update contains the position");
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  const auto decoded = pgoutput::DecodeCopyData(frame);
  if (!decoded.ok()) {
    WR_CHECK(HasCode(decoded.status(), ErrorCode::kProtocolViolation),
             "invalid bytes are a protocol violation");
    WR_CHECK(!IsXLogData(frame) && !IsKeepalive(frame), "valid bytes are accepted");
  } else if (const auto* xlog_data = std::get_if<pgoutput::XLogData>(&*decoded)) {
    WR_CHECK(IsXLogData(frame), "the frame is XLogData");
    WR_CHECK(xlog_data->payload == frame.substr(kXLogDataHeader),
             "the payload is the rest of the frame");
  } else {
    CheckKeepalive(frame, std::get<pgoutput::Keepalive>(*decoded));
  }
  return 0;
}

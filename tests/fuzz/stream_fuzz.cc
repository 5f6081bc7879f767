// Decodes the bytes of a session as a hostile server might send them: framing, messages, and their
// order. No read is out of bounds, and every result is a message or WR-2401.
//
// The input is a sequence of frames, each preceded by a two-byte length.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/byte_reader.h"
#include "base/check.h"
#include "pgoutput/copy_data.h"
#include "pgoutput/decoder.h"
#include "pgoutput/relation_cache.h"
#include "stream/transaction_order_check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class Session {
 public:
  absl::Status Handle(std::string_view frame) {
    const auto data = pgoutput::DecodeCopyData(frame);
    if (!data.ok() || std::holds_alternative<pgoutput::Keepalive>(*data)) {
      return data.status();
    }
    const auto message = decoder_.Decode(std::get<pgoutput::XLogData>(*data).payload);
    if (!message.ok()) {
      return message.status();
    }
    if (const auto* begin = std::get_if<pgoutput::Begin>(&*message)) {
      return transactions_.OnBegin(*begin);
    }
    if (const auto* commit = std::get_if<pgoutput::Commit>(&*message)) {
      return transactions_.OnCommit(*commit);
    }
    if (const auto* abort = std::get_if<pgoutput::StreamAbort>(&*message)) {
      return transactions_.OnStreamAbort(*abort);
    }
    if (const auto* relation = std::get_if<pgoutput::Relation>(&*message)) {
      WR_CHECK(relations_.Replace(*relation).columns.size() == relation->columns.size(),
               "a cached relation has the columns of its Relation message");
    }
    if (const auto* type = std::get_if<pgoutput::Type>(&*message)) {
      relations_.OnType(*type);
    }
    return std::holds_alternative<pgoutput::Insert>(*message) ? transactions_.OnRow(Lsn())
                                                              : absl::OkStatus();
  }

 private:
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  TransactionOrderCheck transactions_;
};

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  ByteReader in({reinterpret_cast<const char*>(data), size});
  Session session;
  uint16_t length = 0;
  std::string_view frame;
  while (in.Read(length) && in.ReadBytes(length, frame)) {
    if (const absl::Status status = session.Handle(frame); !status.ok()) {
      WR_CHECK(HasCode(status, ErrorCode::kProtocolViolation),
               "invalid bytes are a protocol violation");
      break;
    }
  }
  return 0;
}

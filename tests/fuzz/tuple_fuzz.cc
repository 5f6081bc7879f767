// Decodes arbitrary bytes as a row, in an INSERT and as the old and the new row of an UPDATE.
// Encoding the decoded row as Postgres does yields the same bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "fakes/pgoutput_writer.h"
#include "pgoutput/decoder.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr uint32_t kOid = 7;

void CheckInsert(std::string_view tuple) {
  pgoutput::Decoder decoder;
  const std::string message =
      testing::ByteWriter().Put('I').Put(kOid).Put('N').PutBytes(tuple).Take();
  const auto decoded = decoder.Decode(message);
  if (!decoded.ok()) {
    WR_CHECK(HasCode(decoded.status(), ErrorCode::kProtocolViolation),
             "invalid bytes are a protocol violation");
    return;
  }
  const auto& insert = std::get<pgoutput::Insert>(*decoded);
  WR_CHECK(testing::InsertMessage(kOid, testing::RowOf(insert.row)) == message,
           "the row is unchanged");
}

// Both tuples are in `tuples`, with the marker of the second between them.
void CheckUpdate(std::string_view tuples) {
  pgoutput::Decoder decoder;
  const std::string message =
      testing::ByteWriter().Put('U').Put(kOid).Put('O').PutBytes(tuples).Take();
  const auto decoded = decoder.Decode(message);
  if (!decoded.ok()) {
    WR_CHECK(HasCode(decoded.status(), ErrorCode::kProtocolViolation),
             "invalid bytes are a protocol violation");
    return;
  }
  const auto& update = std::get<pgoutput::Update>(*decoded);
  WR_CHECK(testing::UpdateMessage(kOid, testing::RowOf(update.row),
                                  testing::RowOf(*update.old_row)) == message,
           "both rows are unchanged");
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  walrelay::CheckInsert(bytes);
  walrelay::CheckUpdate(bytes);
  return 0;
}

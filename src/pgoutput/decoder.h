// Decoder: decodes the bytes of one pgoutput message into a struct.
//
// The input is not trusted: lengths are checked before use, every byte must be accounted for, and
// messages that protocol version 1 cannot send (parts of streamed and prepared transactions) are
// errors. An error is final for the session: an undecodable message must not be skipped.
//
// Not thread-safe. Allocates only when a message has more columns than any previous one.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/byte_reader.h"
#include "pgoutput/message.h"

namespace walrelay::pgoutput {

// One decoder serves one stream: the scratch space of a decoded message is reused by the next one.
class Decoder {
 public:
  // The result points into `bytes` and into this decoder; it is valid until the next call. Errors:
  // WR-2401 (ProtocolViolation).
  // `bytes`: one whole message, the payload of an XLogData; it must outlive the result. Empty
  // input, an unknown type, excess bytes and a value that an INSERT or an old row cannot have
  // (unchanged TOAST) are errors. After an error the decoder may be used again, for a new session.
  // Memory is bounded by the size of the input: a count is compared with the bytes that are left
  // before anything is allocated.
  absl::StatusOr<Message> Decode(std::string_view bytes);

 private:
  // Each reads one body from `in` and returns false at the first byte that does not fit. After
  // false, the content of `out` is not used.
  bool DecodeBody(MessageType type, ByteReader& in, Message& out);
  bool DecodeRelation(ByteReader& in, Relation& out);
  bool DecodeUpdate(ByteReader& in, Update& out);
  bool DecodeDelete(ByteReader& in, Delete& out);
  bool DecodeTruncate(ByteReader& in, Truncate& out);

  // Scratch space, which the results point into.
  std::vector<Column> columns_;
  std::vector<TupleValue> row_;
  std::vector<TupleValue> old_row_;
  std::vector<uint32_t> oids_;
};

}  // namespace walrelay::pgoutput

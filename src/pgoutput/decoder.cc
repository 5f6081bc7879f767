#include "pgoutput/decoder.h"

#include <fmt/format.h>

#include "base/text.h"
#include "pgoutput/wire_types.h"
#include "walrelay/error.h"

namespace walrelay::pgoutput {
namespace {

// From proto.c: LOGICALREP_IS_REPLICA_IDENTITY, TRUNCATE_CASCADE, TRUNCATE_RESTART_SEQS,
// MESSAGE_TRANSACTIONAL.
constexpr uint8_t kColumnPartOfKey = 1;
constexpr uint8_t kTruncateCascade = 1;
constexpr uint8_t kTruncateRestartIdentity = 2;
constexpr uint8_t kMessageTransactional = 1;

// Types that only streaming or two-phase decoding produces. walrelay requests neither: such a
// message means that the stream contains rows of transactions that may still roll back. Stream
// Abort is excluded: see message.h.
bool IsStreamedType(char type) {
  return std::string_view("SEcbPKrp").find(type) != std::string_view::npos;
}

absl::Status Violation(std::string_view what) {
  return Error(ErrorCode::kProtocolViolation, what);
}

// Each function reads the fields in the order in which proto.c writes them.
bool Decode(ByteReader& in, Begin& out) {
  return ReadLsn(in, out.final_lsn) && ReadTimestamp(in, out.commit_time) && in.Read(out.xid);
}

// The flags are unused so far. A value other than 0 means something that is not understood, and a
// COMMIT must be understood.
bool Decode(ByteReader& in, Commit& out) {
  uint8_t flags = 0;
  return in.Read(flags) && flags == 0 && ReadLsn(in, out.commit_lsn) && ReadLsn(in, out.end_lsn) &&
         ReadTimestamp(in, out.commit_time);
}

bool Decode(ByteReader& in, Origin& out) {
  return ReadLsn(in, out.lsn) && in.ReadCString(out.name);
}

// The protocol encodes pg_catalog as an empty string.
bool ReadSchema(ByteReader& in, std::string_view& out) {
  if (!in.ReadCString(out)) {
    return false;
  }
  if (out.empty()) {
    out = "pg_catalog";
  }
  return true;
}

// Sent before a Relation for each type that is not built in.
bool Decode(ByteReader& in, Type& out) {
  return in.Read(out.oid) && ReadSchema(in, out.schema) && in.ReadCString(out.name);
}

// The content is binary and has a length; the prefix is text and ends with a zero byte.
bool Decode(ByteReader& in, LogicalMessage& out) {
  uint8_t flags = 0;
  uint32_t length = 0;
  if (!in.Read(flags) || !ReadLsn(in, out.lsn) || !in.ReadCString(out.prefix) || !in.Read(length)) {
    return false;
  }
  out.transactional = (flags & kMessageTransactional) != 0;
  return in.ReadBytes(length, out.content);
}

bool Decode(ByteReader& in, StreamAbort& out) {
  return in.Read(out.xid) && in.Read(out.subxid);
}

bool DecodeValue(ByteReader& in, TupleValue& out) {
  char kind = 0;
  if (!in.Read(kind)) {
    return false;
  }
  // The enumerators are the letters of the protocol. An unknown letter leaves the switch, and is an
  // error.
  out = {static_cast<TupleValue::Kind>(kind), {}};
  switch (out.kind) {
    case TupleValue::Kind::kNull:
    case TupleValue::Kind::kUnchangedToast:
      return true;
    case TupleValue::Kind::kText:
    case TupleValue::Kind::kBinary: {
      uint32_t length = 0;
      return in.Read(length) && in.ReadBytes(length, out.bytes);
    }
  }
  return false;
}

bool DecodeTuple(ByteReader& in, std::vector<TupleValue>& storage, Tuple& out) {
  uint16_t count = 0;
  // A value takes at least one byte, so a false count cannot cause an allocation.
  if (!in.Read(count) || count > in.remaining()) {
    return false;
  }
  // The storage belongs to the decoder and keeps its capacity: no allocation per row.
  storage.resize(count);
  for (TupleValue& value : storage) {
    if (!DecodeValue(in, value)) {
      return false;
    }
  }
  out = storage;
  return true;
}

// Only an UPDATE's new row may have one. An event without its payload must not be published.
bool HasUnchangedToast(Tuple tuple) {
  for (const TupleValue& value : tuple) {
    if (value.kind == TupleValue::Kind::kUnchangedToast) {
      return true;
    }
  }
  return false;
}

// 'N' precedes a new row, 'K' an old key and 'O' an old row.
bool ReadMarker(ByteReader& in, char expected) {
  char marker = 0;
  return in.Read(marker) && marker == expected;
}

bool DecodeInsert(ByteReader& in, std::vector<TupleValue>& storage, Insert& out) {
  return in.Read(out.relation_oid) && ReadMarker(in, 'N') && DecodeTuple(in, storage, out.row) &&
         !HasUnchangedToast(out.row);
}

}  // namespace

// Excess bytes are an error as well: they would be fields of a later version, whose meaning is
// unknown.
absl::StatusOr<Message> Decoder::Decode(std::string_view bytes) {
  ByteReader in(bytes);
  char type = 0;
  // Postgres 13 sends an empty message for an origin whose name it does not find.
  // Source: pgoutput_begin_txn() in pgoutput.c.
  if (!in.Read(type)) {
    return Origin();
  }
  if (IsStreamedType(type)) {
    return Violation(fmt::format(
        "message type '{}' belongs to streamed or prepared transactions, which were not requested; "
        "a slot created with two_phase sends the latter (see walrelay doctor)",
        type));
  }
  Message message;
  if (!DecodeBody(static_cast<MessageType>(type), in, message)) {
    return Violation(fmt::format("invalid message of type '{}' with {} bytes: error at byte {}",
                                 Printable({&type, 1}), bytes.size(),
                                 bytes.size() - in.remaining()));
  }
  if (!in.at_end()) {
    return Violation(fmt::format("message of type '{}' has {} excess bytes", type, in.remaining()));
  }
  return message;
}

// A type that is not listed leaves the switch and is invalid. No default: the compiler reports a
// missing type.
bool Decoder::DecodeBody(MessageType type, ByteReader& in, Message& out) {
  switch (type) {
    case MessageType::kBegin:
      return pgoutput::Decode(in, out.emplace<Begin>());
    case MessageType::kCommit:
      return pgoutput::Decode(in, out.emplace<Commit>());
    case MessageType::kOrigin:
      return pgoutput::Decode(in, out.emplace<Origin>());
    case MessageType::kType:
      return pgoutput::Decode(in, out.emplace<Type>());
    case MessageType::kMessage:
      return pgoutput::Decode(in, out.emplace<LogicalMessage>());
    case MessageType::kStreamAbort:
      return pgoutput::Decode(in, out.emplace<StreamAbort>());
    case MessageType::kRelation:
      return DecodeRelation(in, out.emplace<Relation>());
    case MessageType::kInsert:
      return DecodeInsert(in, row_, out.emplace<Insert>());
    case MessageType::kUpdate:
      return DecodeUpdate(in, out.emplace<Update>());
    case MessageType::kDelete:
      return DecodeDelete(in, out.emplace<Delete>());
    case MessageType::kTruncate:
      return DecodeTruncate(in, out.emplace<Truncate>());
  }
  return false;
}

// A column takes more than one byte, so a false count cannot cause a large allocation.
bool Decoder::DecodeRelation(ByteReader& in, Relation& out) {
  uint16_t count = 0;
  if (!in.Read(out.oid) || !ReadSchema(in, out.schema) || !in.ReadCString(out.name) ||
      !in.Read(out.replica_identity) || !in.Read(count) || count > in.remaining()) {
    return false;
  }
  columns_.resize(count);
  for (Column& column : columns_) {
    uint8_t flags = 0;
    if (!in.Read(flags) || !in.ReadCString(column.name) || !in.Read(column.type_oid) ||
        !in.Read(column.type_modifier)) {
      return false;
    }
    column.part_of_key = (flags & kColumnPartOfKey) != 0;
  }
  out.columns = columns_;
  return true;
}

// The old row is present if the replica identity is FULL, or if the update changed the key.
bool Decoder::DecodeUpdate(ByteReader& in, Update& out) {
  char marker = 0;
  if (!in.Read(out.relation_oid) || !in.Read(marker)) {
    return false;
  }
  if (marker == 'K' || marker == 'O') {
    Tuple old_row;
    if (!DecodeTuple(in, old_row_, old_row) || HasUnchangedToast(old_row) || !in.Read(marker)) {
      return false;
    }
    out.old_row = old_row;
  }
  return marker == 'N' && DecodeTuple(in, row_, out.row);
}

bool Decoder::DecodeDelete(ByteReader& in, Delete& out) {
  char marker = 0;
  return in.Read(out.relation_oid) && in.Read(marker) && (marker == 'K' || marker == 'O') &&
         DecodeTuple(in, old_row_, out.old_row) && !HasUnchangedToast(out.old_row);
}

// Flags come before the OIDs, and the count is that of the OIDs.
bool Decoder::DecodeTruncate(ByteReader& in, Truncate& out) {
  uint32_t count = 0;
  uint8_t flags = 0;
  // A false count cannot cause a large allocation.
  if (!in.Read(count) || !in.Read(flags) || count > in.remaining() / sizeof(uint32_t)) {
    return false;
  }
  oids_.resize(count);
  for (uint32_t& oid : oids_) {
    if (!in.Read(oid)) {
      return false;
    }
  }
  out.relation_oids = oids_;
  out.cascade = (flags & kTruncateCascade) != 0;
  out.restart_identity = (flags & kTruncateRestartIdentity) != 0;
  return true;
}

}  // namespace walrelay::pgoutput

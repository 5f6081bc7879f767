// Decodes arbitrary bytes as one message. The result is a protocol violation, or a message that can
// be encoded as Postgres encodes it, with the same length, and decoded again to the same message.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "fakes/pgoutput_writer.h"
#include "pgoutput/decoder.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Encodes a message, without the flags that walrelay ignores.
struct Writer {
  std::string operator()(const pgoutput::Begin& begin) const {
    return testing::BeginMessage(begin.final_lsn, begin.commit_time, begin.xid);
  }
  std::string operator()(const pgoutput::Commit& commit) const {
    return testing::CommitMessage(commit.commit_lsn, commit.end_lsn, commit.commit_time);
  }
  std::string operator()(const pgoutput::Origin& origin) const {
    return testing::OriginMessage(origin.lsn, origin.name);
  }
  std::string operator()(const pgoutput::Relation& relation) const {
    std::vector<testing::ColumnSpec> columns;
    for (const pgoutput::Column& column : relation.columns) {
      columns.push_back(
          {std::string(column.name), column.type_oid, column.part_of_key, column.type_modifier});
    }
    return testing::RelationMessage(relation.oid, relation.schema, relation.name, columns,
                                    relation.replica_identity);
  }
  std::string operator()(const pgoutput::Type& type) const {
    return testing::TypeMessage(type.oid, type.schema, type.name);
  }
  std::string operator()(const pgoutput::Insert& insert) const {
    return testing::InsertMessage(insert.relation_oid, testing::RowOf(insert.row));
  }
  std::string operator()(const pgoutput::Update& update) const {
    return testing::UpdateMessage(
        update.relation_oid, testing::RowOf(update.row),
        update.old_row ? std::optional(testing::RowOf(*update.old_row)) : std::nullopt);
  }
  std::string operator()(const pgoutput::Delete& del) const {
    return testing::DeleteMessage(del.relation_oid, testing::RowOf(del.old_row));
  }
  std::string operator()(const pgoutput::Truncate& truncate) const {
    const auto flags =
        static_cast<uint8_t>((truncate.cascade ? 1 : 0) | (truncate.restart_identity ? 2 : 0));
    return testing::TruncateMessage({truncate.relation_oids.begin(), truncate.relation_oids.end()},
                                    flags);
  }
  std::string operator()(const pgoutput::LogicalMessage& message) const {
    return testing::LogicalMessage(message.transactional, message.lsn, message.prefix,
                                   message.content);
  }
  std::string operator()(const pgoutput::StreamAbort& abort) const {
    return testing::StreamAbortMessage(abort.xid, abort.subxid);
  }
};

// An empty schema name is an abbreviation of pg_catalog.
bool MayBeLonger(char type) {
  return type == 'R' || type == 'Y';
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walrelay;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pgoutput::Decoder decoder;
  const auto decoded = decoder.Decode(bytes);
  if (!decoded.ok()) {
    WR_CHECK(HasCode(decoded.status(), ErrorCode::kProtocolViolation),
             "invalid bytes are a protocol violation");
    return 0;
  }
  if (size == 0) {
    WR_CHECK(std::holds_alternative<pgoutput::Origin>(*decoded), "Postgres 13 sends such origins");
    return 0;
  }
  const std::string written = std::visit(Writer(), *decoded);
  WR_CHECK(written.size() == size || MayBeLonger(bytes.front()), "every byte was decoded");
  pgoutput::Decoder another;
  const auto again = another.Decode(written);
  WR_CHECK(again.ok(), "an encoded message can be decoded");
  WR_CHECK(std::visit(Writer(), *again) == written,
           "decoding the encoded message yields the same message");
  return 0;
}

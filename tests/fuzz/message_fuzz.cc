// Routes arbitrary bytes as the content of a logical message with the outbox prefix. Each message
// yields a record with a legal topic, or an error WR-3xxx.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_reader.h"
#include "base/check.h"
#include "route/message_row.h"
#include "route/router.h"
#include "route/topic_name.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

void CheckError(const absl::Status& status) {
  WR_CHECK(CodeOf(status) >= ErrorCode::kProtocolViolation &&
               CodeOf(status) <= ErrorCode::kUpdateRefused,
           "a message that cannot be routed yields a row error");
}

// Small, so that inputs of a few hundred bytes reach them.
constexpr RowLimits kLimits = RowLimits::For(100);

void RouteMessages(std::string_view input) {
  ByteReader in(input);
  uint8_t formats = 0;
  (void)in.Read(formats);
  SourceConfig source;
  source.message_prefixes = {"outbox"};
  source.tables.front().placements = {{"h", Placement::Where::kHeader, "h"},
                                      {"p", Placement::Where::kPartition, "p"}};
  source.missing_columns = MissingColumns::kIgnore;
  if (formats / 100 == 1) {
    source.tables.front().placements.push_back({"e", Placement::Where::kEnvelope, "e"});
  }
  FormatConfig format;
  format.key.format = static_cast<Format>(formats % 5);
  format.value.format = static_cast<Format>(formats / 5 % 5);
  format.headers = static_cast<HeaderFormat>(formats / 25 % 2);
  format.expand_json = formats / 50 % 2 == 1;
  const RouteConfig route;
  auto router = Router::Create(source, route, format, "", kLimits);
  if (!router.ok()) {
    return;  // raw bytes have no envelope
  }
  router->StartSession(std::array{TableInfo{}});
  pgoutput::RelationCache relations;
  MessageRow row(formats % 2 == 0 ? NullMembers::kIgnore : NullMembers::kOptionalBytes, kLimits);
  // Each half of the input is a message: the second may have other columns.
  const std::string_view rest = input.substr(input.size() - in.remaining());
  for (const std::string_view content :
       {rest.substr(0, rest.size() / 2), rest.substr(rest.size() / 2), rest}) {
    const absl::Status readable = row.Read("outbox", content);
    if (row.has_new_columns()) {
      WR_CHECK(router->OnRelation(relations.Replace(row.relation())),
               "the relation of messages is an outbox");
    }
    (void)router->Identify(kMessageRelation, row.row());
    if (!readable.ok()) {
      CheckError(readable);
      continue;
    }
    const auto record = router->Route(kMessageRelation, row.row(), WallTime());
    if (!record.ok()) {
      CheckError(record.status());
      continue;
    }
    WR_CHECK(CheckTopicName(record->topic).ok(), "a record has a legal topic");
    WR_CHECK(record->key.has_value(), "a record has a key");
  }
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  walrelay::RouteMessages({reinterpret_cast<const char*>(data), size});
  return 0;
}

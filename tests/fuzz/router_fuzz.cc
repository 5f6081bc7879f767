// Routes rows as a hostile writer might insert them: arbitrary bytes in any column, in text or
// binary format. Each row yields a record with a legal topic, or an error WR-3xxx.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/check.h"
#include "pgoutput/type_oids.h"
#include "route/router.h"
#include "route/topic_name.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr uint32_t kOid = 7;

pgoutput::TupleValue ReadValue(ByteReader& in) {
  uint8_t kind = 0;
  uint16_t length = 0;
  std::string_view bytes;
  if (!in.Read(kind) || !in.Read(length) ||
      !in.ReadBytes(std::min<size_t>(length, in.remaining()), bytes)) {
    return {};
  }
  using Kind = pgoutput::TupleValue::Kind;
  const Kind kinds[] = {Kind::kText, Kind::kBinary, Kind::kNull, Kind::kUnchangedToast};
  return {kinds[kind % 4], bytes};
}

void RouteRow(std::string_view input) {
  ByteReader in(input);
  SourceConfig source;
  source.tables.front().placements = {{"p", Placement::Where::kPartition, "p"},
                                      {"h", Placement::Where::kHeader, "h"}};
  RouteConfig route;
  route.regex = "(?<a>[^.]*)\\.?(?<routedByValue>.*)";
  route.timestamp = TimestampSource::kColumn;
  route.timestamp_column = "t";
  uint8_t payload_type = 0;
  uint8_t formats = 0;
  (void)in.Read(payload_type);
  (void)in.Read(formats);
  FormatConfig format;
  format.key.format = static_cast<Format>(formats % 5);
  format.value.format = static_cast<Format>(formats / 5 % 5);
  format.headers = static_cast<HeaderFormat>(formats / 25 % 2);
  format.expand_json = formats / 50 % 2 == 1;
  auto router = Router::Create(source, route, format);
  WR_CHECK(router.ok(), "the configuration is valid");
  const uint32_t types[] = {pgoutput::kTextOid, pgoutput::kByteaOid, pgoutput::kJsonbOid,
                            pgoutput::kUuidOid, pgoutput::kBoolOid,  pgoutput::kInt2Oid,
                            pgoutput::kJsonOid, pgoutput::kInt4Oid};
  const std::array<uint32_t, 4> times = {pgoutput::kTimestamptzOid, pgoutput::kTimestampOid,
                                         pgoutput::kInt8Oid, pgoutput::kTimestampOid};
  const pgoutput::CachedRelation relation{.oid = kOid,
                                          .schema = "public",
                                          .name = "outbox",
                                          .columns = {{"id", types[payload_type / 8 % 8]},
                                                      {"aggregate_type", pgoutput::kTextOid},
                                                      {"aggregate_id", types[payload_type / 4 % 8]},
                                                      {"payload", types[payload_type % 8]},
                                                      {"p", pgoutput::kInt4Oid},
                                                      {"h", types[payload_type / 2 % 8]},
                                                      {"t", times[payload_type % 4]}}};
  router->StartSession(std::array{TableInfo{.oid = kOid}});
  WR_CHECK(router->OnRelation(relation), "the relation is the outbox");
  std::array<pgoutput::TupleValue, 7> row;
  for (pgoutput::TupleValue& value : row) {
    value = ReadValue(in);
  }
  const auto record = router->Route(kOid, row, WallTime());
  (void)router->Identify(kOid, row);
  if (record.ok()) {
    WR_CHECK(CheckTopicName(record->topic).ok(), "a record has a legal topic");
    WR_CHECK(record->key.has_value(), "a record has a key");
  } else {
    WR_CHECK(CodeOf(record.status()) >= ErrorCode::kProtocolViolation &&
                 CodeOf(record.status()) <= ErrorCode::kUpdateRefused,
             "a row that cannot be routed yields a row error");
  }
}

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  walrelay::RouteRow({reinterpret_cast<const char*>(data), size});
  return 0;
}

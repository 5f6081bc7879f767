// Memory for one row is bounded by kafka.max_record_bytes, whatever the row contains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "encode/row_limits.h"
#include "fakes/allocation_counter.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/sample_rows.h"
#include "fakes/status_matchers.h"
#include "pgoutput/decoder.h"
#include "pgoutput/type_oids.h"
#include "route/message_row.h"
#include "route/router.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using testing::PeakBytesDuring;

using testing::kOutbox;
constexpr int64_t kMaxRecord = 100'000;
constexpr size_t kMaxRaw = RowLimits::For(kMaxRecord).raw_bytes;
// The documented bounds, as multiples of kafka.max_record_bytes: for a row whose JSON is expanded
// into members, and for a row whose bytes are passed on unchanged.
constexpr size_t kMaxFactorOfJson = 320;
constexpr size_t kMaxFactorOfArrays = 160;
constexpr size_t kMaxFactorOfBytes = 48;
constexpr size_t kMaxKept = 4'000'000;

// A list of `count` items, or of as many as fit into a row.
std::string List(const std::function<std::string(size_t)>& item,
                 size_t count = std::numeric_limits<size_t>::max(), size_t most = kMaxRaw - 200) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    const std::string next = item(i);
    if (out.size() + next.size() + 1 > most) {
      break;
    }
    out += (i == 0 ? "" : ",") + next;
  }
  return out;
}
std::function<std::string(size_t)> Same(std::string text) {
  return [text = std::move(text)](size_t) { return text; };
}
std::string Nested(size_t levels, const std::string& name, const std::string& inner) {
  std::string out;
  for (size_t i = 0; i < levels; ++i) {
    out += "{\"" + name + "\":";
  }
  return out + inner + std::string(levels, '}');
}
std::string NestedArrays(size_t levels, const std::string& inner) {
  std::string out;
  for (size_t i = 0; i < levels; ++i) {
    out += "[{\"a\":";
  }
  out += inner;
  for (size_t i = 0; i < levels; ++i) {
    out += "}]";
  }
  return out;
}

// Documents that need much memory for their size: dense, deep, wide, repeating, within the limits.
std::vector<std::pair<std::string, std::string>> HostileDocuments() {
  const size_t values = RowLimits::For(kMaxRecord).json_values - 2;
  const auto name = [](size_t i) { return "\"" + std::to_string(i) + "\""; };
  const std::string long_name(3'000, 'n');
  return {
      {"numbers", "{\"a\":[" + List(Same("1"), values) + "]}"},
      {"too many numbers", "{\"a\":[" + List(Same("1")) + "]}"},
      {"doubles", "{\"a\":[" + List(Same("1.5"), values) + "]}"},
      {"empty arrays", "{\"a\":[" + List(Same("[]"), values) + "]}"},
      {"arrays of one", "{\"a\":[" + List(Same("[1]"), values / 2) + "]}"},
      {"empty objects", "{\"a\":[" + List(Same("{}"), values) + "]}"},
      {"objects of one", "{\"a\":[" + List(Same("{\"b\":1}"), values / 2) + "]}"},
      {"objects of all shapes",
       "{\"a\":[" + List([&](size_t i) { return "{" + name(i) + ":1}"; }, values / 2) + "]}"},
      {"members", "{" + List([&](size_t i) { return name(i) + ":1"; }, values) + "}"},
      {"members that are objects",
       "{" + List([&](size_t i) { return name(i) + ":{}"; }, values) + "}"},
      {"the same member", "{" + List(Same("\"a\":1"), values) + "}"},
      {"strings", "{\"a\":[" + List(Same("\"\""), values) + "]}"},
      {"escapes", "{\"a\":[" + List(Same("\"\\u0041\""), values) + "]}"},
      {"one string of escapes", "{\"a\":\"" + std::string(kMaxRaw - 300, 'x') + "\\n\"}"},
      {"deep", Nested(990, "a", "1")},
      {"deep with long names", Nested(120, long_name, "1")},
      {"deep and wide",
       Nested(500, "abcdefgh",
              "[" + List([&](size_t i) { return "{" + name(i) + ":1}"; }, 20'000) + "]")},
      {"deep arrays of all shapes",
       NestedArrays(300,
                    "[" + List([&](size_t i) { return "{" + name(i) + ":1}"; }, 20'000) + "]")},
      {"long path and many objects",
       Nested(100, long_name, "{" + List([&](size_t i) { return name(i) + ":{}"; }, 5'000) + "}")},
      {"only spaces", "{" + std::string(kMaxRaw - 300, ' ') + "}"},
      {"text after", "{}" + std::string(kMaxRaw - 300, '1')},
  };
}

class RowLimitsTest : public ::testing::Test {
 protected:
  void MakeRouter() {
    source_.message_prefixes = {"m"};
    router_.emplace(*Router::Create(source_, route_, format_, "", limits_));
    router_->StartSession(std::array{info_});
    router_->OnRelation(relations_.Replace(std::get<pgoutput::Relation>(*decoder_.Decode(
        relation_ = testing::RelationMessage(kOutbox, "public", "outbox", columns_)))));
  }
  absl::StatusOr<Record> Route(const std::vector<std::optional<std::string>>& row) {
    insert_ = testing::InsertMessage(kOutbox, testing::TextRow(row));
    return router_->Route(kOutbox, std::get<pgoutput::Insert>(*decoder_.Decode(insert_)).row,
                          WallTime());
  }
  absl::StatusOr<Record> RoutePayload(const std::string& payload) {
    return Route({"i", "t", "k", payload});
  }

  const RowLimits limits_ = RowLimits::For(kMaxRecord);
  SourceConfig source_;
  RouteConfig route_;
  FormatConfig format_;
  TableInfo info_{.schema = "public", .name = "outbox", .oid = kOutbox};
  std::vector<testing::ColumnSpec> columns_ = {{"id", pgoutput::kTextOid},
                                               {"aggregate_type", pgoutput::kTextOid},
                                               {"aggregate_id", pgoutput::kTextOid},
                                               {"payload", pgoutput::kJsonOid}};
  pgoutput::Decoder decoder_;
  pgoutput::RelationCache relations_;
  std::string relation_;
  std::string insert_;
  std::optional<Router> router_;
};

TEST_F(RowLimitsTest, RowBeyondFourRecordsIsTooLarge) {
  MakeRouter();
  EXPECT_THAT(RoutePayload(std::string(kMaxRaw - 3, 'x')), IsOk());
  EXPECT_THAT(RoutePayload(std::string(kMaxRaw - 2, 'x')),
              HasError(ErrorCode::kRecordTooLarge, "have 400001 bytes; the limit is 400000"));
  EXPECT_THAT(Route({"i", "t", std::string(kMaxRaw, 'k'), "{}"}),
              HasError(ErrorCode::kRecordTooLarge));
}

// A column that is not part of a record may have any size.
TEST_F(RowLimitsTest, OtherColumnsDoNotCount) {
  columns_.push_back({"notes", pgoutput::kTextOid});
  MakeRouter();
  EXPECT_THAT(Route({"i", "t", "k", "{}", std::string(3 * kMaxRaw, 'x')}), IsOk());
  source_.tables[0].placements = {{"notes", Placement::Where::kHeader, "notes"}};
  MakeRouter();
  EXPECT_THAT(Route({"i", "t", "k", "{}", std::string(3 * kMaxRaw, 'x')}),
              HasError(ErrorCode::kRecordTooLarge));
}

TEST_F(RowLimitsTest, KeyOfAHugeRowIsNotBuilt) {
  MakeRouter();
  (void)Route({"i", "t", std::string(kMaxRaw + 1, 'k'), "{}"});
  const auto row = std::get<pgoutput::Insert>(*decoder_.Decode(insert_)).row;
  EXPECT_EQ(router_->KeyOf(kOutbox, row), std::nullopt);
}

TEST_F(RowLimitsTest, JsonBeyondTheLimitsIsTooLarge) {
  format_.expand_json = true;
  format_.value.format = Format::kJson;
  MakeRouter();
  EXPECT_THAT(RoutePayload("{\"a\":[" + List(Same("1")) + "]}"),
              HasError(ErrorCode::kRecordTooLarge, "more than 50001 values"));
  EXPECT_THAT(RoutePayload(Nested(120, std::string(3'000, 'n'), "1")),
              HasError(ErrorCode::kRecordTooLarge, "names in the schema"));
  EXPECT_THAT(RoutePayload("{\"a\":[" + List(Same("1"), 40'000) + "]}"), IsOk());
  // A thousand elements with a thousand members each, one of which is not null.
  EXPECT_THAT(RoutePayload(
                  "{\"a\":[" +
                  List([](size_t i) { return "{\"" + std::to_string(i) + "\":1}"; }, 1'000) + "]}"),
              HasError(ErrorCode::kRecordTooLarge, "all members of all elements"));
}

// Equal elements share one schema: their names count once.
TEST_F(RowLimitsTest, NamesOfEqualElementsCountOnce) {
  format_.expand_json = true;
  format_.value.format = Format::kJson;
  MakeRouter();
  const std::string element = Nested(3, std::string(400, 'n'), "1");
  const auto record = RoutePayload("{\"a\":[" + List(Same(element)) + "]}");
  ASSERT_THAT(record, IsOk());
  EXPECT_THAT(std::string(*record->value), HasSubstr("nnn"));
}

TEST_F(RowLimitsTest, MemoryForARowIsBounded) {
  for (const Format format : {Format::kJson, Format::kJsonSchema, Format::kString}) {
    format_ = {.value = {.format = format}, .expand_json = true};
    for (const auto& [name, document] : HostileDocuments()) {
      MakeRouter();
      const size_t peak = PeakBytesDuring([&, &text = document] { (void)RoutePayload(text); });
      EXPECT_LT(peak, kMaxFactorOfJson * kMaxRecord) << name << " " << static_cast<int>(format);
    }
  }
}

// Memory for a huge row is released with the next row.
TEST_F(RowLimitsTest, MemoryForARowIsReleased) {
  for (const Format format : {Format::kJson, Format::kJsonSchema}) {
    format_ = {.value = {.format = format}, .expand_json = true};
    for (const auto& [name, document] : HostileDocuments()) {
      MakeRouter();
      (void)RoutePayload("{\"a\":1}");
      const size_t before = testing::LiveBytes();
      (void)RoutePayload(document);
      (void)RoutePayload("{\"a\":1}");
      EXPECT_LT(testing::LiveBytes(), before + kMaxKept) << name;
    }
  }
}

TEST_F(RowLimitsTest, MemoryForAMessageIsBounded) {
  for (const Format format : {Format::kRaw, Format::kJsonSchema}) {
    format_ = {.value = {.format = format}};
    for (const auto& [name, document] : HostileDocuments()) {
      const std::string content =
          R"({"id":"i","aggregate_type":"t","aggregate_id":"k","payload":)" + document + "}";
      MakeRouter();
      MessageRow row(NullMembers::kOptionalBytes, limits_);
      const size_t peak = PeakBytesDuring([&] {
        if (row.Read("m", content).ok()) {
          router_->OnRelation(relations_.Replace(row.relation()));
          (void)router_->Route(kMessageRelation, row.row(), WallTime());
        }
      });
      EXPECT_LT(peak, kMaxFactorOfJson * kMaxRecord) << name;
    }
  }
}

TEST_F(RowLimitsTest, MemoryForBytesIsBounded) {
  for (const uint32_t type : {pgoutput::kByteaOid, pgoutput::kTextOid}) {
    columns_.back().type_oid = type;
    for (const Format format : {Format::kRaw, Format::kBytes, Format::kJson}) {
      format_ = {.value = {.format = format}};
      MakeRouter();
      for (const std::string& payload :
           {"\\x" + std::string(kMaxRaw - 100, '0'), std::string(kMaxRaw - 100, '\x01'),
            std::string(100 * kMaxRaw, 'x')}) {
        testing::Row row = testing::TextRow({"i", "t", "k", payload});
        insert_ = testing::InsertMessage(kOutbox, row);
        const auto tuple = std::get<pgoutput::Insert>(*decoder_.Decode(insert_)).row;
        const size_t peak =
            PeakBytesDuring([&] { (void)router_->Route(kOutbox, tuple, WallTime()); });
        EXPECT_LT(peak, kMaxFactorOfBytes * kMaxRecord);
      }
    }
  }
}

TEST_F(RowLimitsTest, MemoryForAnArrayIsBounded) {
  columns_.back().type_oid = 1007;  // int4[]
  format_ = {.value = {.format = Format::kJson}};
  MakeRouter();
  const std::string array = "{" + List(Same("1")) + "}";
  const size_t peak = PeakBytesDuring([&] { (void)RoutePayload(array); });
  EXPECT_LT(peak, kMaxFactorOfArrays * kMaxRecord);
}

}  // namespace
}  // namespace walrelay

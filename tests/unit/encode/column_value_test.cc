#include "encode/column_value.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "fakes/pgoutput_writer.h"
#include "fakes/status_matchers.h"
#include "pgoutput/type_oids.h"
#include "pgoutput/wire_types.h"

namespace walrelay {
namespace {

using namespace pgoutput;  // NOLINT: the OIDs, by name
using ::testing::Optional;

constexpr uint32_t kCharOid = 18;
constexpr uint32_t kEnumOid = 16385;  // not a built-in type
constexpr uint32_t kEveryOid[] = {kBoolOid,        kByteaOid,  kCharOid,    kNameOid,
                                  kInt8Oid,        kInt2Oid,   kInt4Oid,    kTextOid,
                                  kJsonOid,        kBpcharOid, kVarcharOid, kTimestampOid,
                                  kTimestamptzOid, kUuidOid,   kJsonbOid,   kEnumOid};

TupleValue Text(std::string_view bytes) {
  return {TupleValue::Kind::kText, bytes};
}
TupleValue Binary(std::string_view bytes) {
  return {TupleValue::Kind::kBinary, bytes};
}

template <typename Int>
std::string BigEndian(Int value) {
  return testing::ByteWriter().Put(value).Take();
}

class ColumnValueTest : public ::testing::Test {
 protected:
  absl::StatusOr<OptionalBytes> FromText(uint32_t type_oid, std::string_view bytes) {
    return ColumnBytes(Text(bytes), type_oid, arena_);
  }
  absl::StatusOr<OptionalBytes> FromBinary(uint32_t type_oid, std::string_view bytes) {
    return ColumnBytes(Binary(bytes), type_oid, arena_);
  }

  Arena arena_;
};

TEST_F(ColumnValueTest, NullIsNeverEmpty) {
  for (const uint32_t oid : kEveryOid) {
    EXPECT_THAT(ColumnBytes(TupleValue(), oid, arena_), IsOkAndHolds(std::nullopt)) << oid;
  }
}

TEST_F(ColumnValueTest, EmptyIsNeverNull) {
  EXPECT_THAT(FromText(kTextOid, ""), IsOkAndHolds(Optional(std::string_view())));
  EXPECT_THAT(FromText(kByteaOid, "\\x"), IsOkAndHolds(Optional(std::string_view())));
  EXPECT_THAT(FromBinary(kTextOid, ""), IsOkAndHolds(Optional(std::string_view())));
  EXPECT_THAT(FromBinary(kByteaOid, ""), IsOkAndHolds(Optional(std::string_view())));
}

TEST_F(ColumnValueTest, TextOfEveryTypeButByteaIsUnchangedAndNotCopied) {
  const std::string bytes("\\x41 \"\xff\n\0 ", 11);
  for (const uint32_t oid : kEveryOid) {
    if (oid != kByteaOid) {
      const auto out = FromText(oid, bytes);
      ASSERT_THAT(out, IsOkAndHolds(Optional(std::string_view(bytes)))) << oid;
      EXPECT_EQ((*out)->data(), bytes.data()) << oid;
    }
  }
}

TEST_F(ColumnValueTest, UnchangedToastValueIsAProtocolViolation) {
  const TupleValue unchanged{TupleValue::Kind::kUnchangedToast, {}};
  EXPECT_THAT(ColumnBytes(unchanged, kTextOid, arena_), HasError(ErrorCode::kProtocolViolation));
}

TEST_F(ColumnValueTest, ByteaHexOfEitherCaseDecodesEveryByte) {
  std::string lower = "\\x";
  std::string upper = "\\x";
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    lower += fmt::format("{:02x}", byte);
    upper += fmt::format("{:02X}", byte);
    bytes += static_cast<char>(byte);
  }
  EXPECT_THAT(FromText(kByteaOid, lower), IsOkAndHolds(Optional(std::string_view(bytes))));
  EXPECT_THAT(FromText(kByteaOid, upper), IsOkAndHolds(Optional(std::string_view(bytes))));
}

TEST_F(ColumnValueTest, ByteaHexWithAnInvalidDigitIsRefused) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto digit = static_cast<char>(byte);
    const bool right =
        std::string_view("0123456789abcdefABCDEF").find(digit) != std::string_view::npos;
    const std::string first = std::string("\\x") + digit + '0';
    const std::string second = std::string("\\x0") + digit;
    EXPECT_EQ(FromText(kByteaOid, first).ok(), right) << byte;
    EXPECT_EQ(FromText(kByteaOid, second).ok(), right) << byte;
  }
}

TEST_F(ColumnValueTest, ByteaThatIsNotHexIsRefused) {
  // The last two are bytea_output = escape.
  for (const char* text : {"", "\\", "48", "\\X48", "\\x4", "\\x486", "x48", "\\\\x48", "\\001"}) {
    EXPECT_THAT(FromText(kByteaOid, text), HasError(ErrorCode::kValueInvalid, "bytea")) << text;
  }
}

TEST_F(ColumnValueTest, ByteaOfAnySizeIsDecodedCompletely) {
  for (const size_t size : {1u, 4095u, 4096u, 4097u, 16384u, 16385u, 1u << 20}) {
    std::string hex = "\\x";
    std::string bytes;
    for (size_t i = 0; i < size; ++i) {
      bytes += static_cast<char>(i * 31);
      hex += fmt::format("{:02x}", static_cast<unsigned char>(bytes.back()));
    }
    const auto out = FromText(kByteaOid, hex);
    ASSERT_THAT(out, IsOk());
    EXPECT_TRUE(**out == bytes) << size;
  }
}

struct BinaryForm {
  uint32_t type_oid;
  std::string bytes;
  std::string text;  // the same value in Postgres' text format
};

TEST_F(ColumnValueTest, BinaryAndTextGiveTheSameBytes) {
  const std::string any("a\0\xff", 3);
  const BinaryForm forms[] = {
      {kByteaOid, any, any},
      {kTextOid, any, any},
      {kVarcharOid, "v", "v"},
      {kBpcharOid, "padded   ", "padded   "},
      {kNameOid, "pg_class", "pg_class"},
      {kJsonOid, "{\"a\" :1.0}", "{\"a\" :1.0}"},
      {kJsonbOid, "\x01{\"a\": 1.10}", "{\"a\": 1.10}"},
      {kJsonbOid, "\x01", ""},
      {kBoolOid, std::string(1, '\0'), "f"},
      {kBoolOid, "\x01", "t"},
      {kUuidOid, std::string("\x10\x71\x1f\xa5\0\xff\x40\0\x8a\xbc\0\0\0\0\0\x01", 16),
       "10711fa5-00ff-4000-8abc-000000000001"},
  };
  for (const BinaryForm& form : forms) {
    EXPECT_THAT(FromBinary(form.type_oid, form.bytes),
                IsOkAndHolds(Optional(std::string_view(form.text))))
        << form.type_oid << " " << form.text;
  }
}

template <typename Int>
void ExpectDecimalAtTheLimits(uint32_t type_oid) {
  Arena arena;
  for (const Int value :
       {std::numeric_limits<Int>::min(), std::numeric_limits<Int>::max(), Int{-1}, Int{0}}) {
    const std::string bytes = BigEndian(value);
    const std::string decimal = fmt::format("{}", value);
    EXPECT_THAT(ColumnBytes(Binary(bytes), type_oid, arena),
                IsOkAndHolds(Optional(std::string_view(decimal))));
  }
}

TEST_F(ColumnValueTest, BinaryIntegersAreDecimalUpToTheirLimits) {
  ExpectDecimalAtTheLimits<int16_t>(kInt2Oid);
  ExpectDecimalAtTheLimits<int32_t>(kInt4Oid);
  ExpectDecimalAtTheLimits<int64_t>(kInt8Oid);
}

TEST_F(ColumnValueTest, BinaryOfAWrongSizeOrVersionIsRefused) {
  const BinaryForm forms[] = {
      {kJsonbOid, "", ""},
      {kJsonbOid, "\x02{}", ""},
      {kJsonbOid, "{}", ""},
      {kBoolOid, "", ""},
      {kBoolOid, "\x01\x01", ""},
      {kUuidOid, std::string(15, 'u'), ""},
      {kUuidOid, std::string(17, 'u'), ""},
      {kUuidOid, "", ""},
      {kInt2Oid, "1", ""},
      {kInt2Oid, "1234", ""},
      {kInt4Oid, "12345678", ""},
      {kInt8Oid, "1234", ""},
      {kInt8Oid, "", ""},
  };
  for (const BinaryForm& form : forms) {
    EXPECT_THAT(FromBinary(form.type_oid, form.bytes), HasError(ErrorCode::kValueInvalid))
        << form.type_oid << " of " << form.bytes.size();
  }
}

// "char" is refused too: Postgres prints a zero byte as an empty string and, since 16, a byte above
// 127 as an octal escape such as \351.
TEST_F(ColumnValueTest, BinaryOfAnUnsupportedTypeIsRefusedWithARemedy) {
  for (const uint32_t oid : {uint32_t{kTimestamptzOid}, kCharOid, kEnumOid, uint32_t{1700}}) {
    const auto out = FromBinary(oid, "x");
    ASSERT_THAT(out, HasError(ErrorCode::kColumnType, fmt::format("type {}", oid)));
    EXPECT_THAT(RemedyFor(out.status()), ::testing::HasSubstr("source.binary = false"));
  }
}

class ColumnPartitionTest : public ::testing::Test {
 protected:
  static constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
};

TEST_F(ColumnPartitionTest, IsAnIntegerOfAnyWidth) {
  for (const uint32_t oid : {kInt2Oid, kInt4Oid, kInt8Oid}) {
    EXPECT_TRUE(IsPartitionType(oid));
    EXPECT_THAT(ColumnPartition(Text("0"), oid), IsOkAndHolds(Optional(0)));
    EXPECT_THAT(ColumnPartition(TupleValue(), oid), IsOkAndHolds(std::nullopt));
  }
  EXPECT_THAT(ColumnPartition(Text("2147483647"), kInt8Oid), IsOkAndHolds(Optional(kMax)));
  EXPECT_THAT(ColumnPartition(Binary(BigEndian(int16_t{7})), kInt2Oid), IsOkAndHolds(Optional(7)));
  EXPECT_THAT(ColumnPartition(Binary(BigEndian(kMax)), kInt4Oid), IsOkAndHolds(Optional(kMax)));
  EXPECT_THAT(ColumnPartition(Binary(BigEndian(int64_t{kMax})), kInt8Oid),
              IsOkAndHolds(Optional(kMax)));
}

TEST_F(ColumnPartitionTest, OutOfRangeIsRefused) {
  for (const char* text :
       {"-1", "2147483648", "9223372036854775807", "9223372036854775808", "", "1.0", "1 "}) {
    EXPECT_THAT(ColumnPartition(Text(text), kInt8Oid), HasError(ErrorCode::kValueInvalid)) << text;
  }
  EXPECT_THAT(ColumnPartition(Binary(BigEndian(int16_t{-1})), kInt2Oid),
              HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(ColumnPartition(Binary(BigEndian(int64_t{1} << 32)), kInt8Oid),
              HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(ColumnPartition(Binary("123"), kInt4Oid), HasError(ErrorCode::kValueInvalid));
}

TEST_F(ColumnPartitionTest, WrongTypeIsRefusedEvenForNull) {
  for (const uint32_t oid : {uint32_t{kTextOid}, uint32_t{kBoolOid}, uint32_t{1700}}) {
    EXPECT_FALSE(IsPartitionType(oid));
    EXPECT_THAT(ColumnPartition(TupleValue(), oid), HasError(ErrorCode::kColumnType, "partition"));
  }
}

class ColumnTimestampTest : public ::testing::Test {
 protected:
  static absl::StatusOr<std::optional<WallTime>> Of(const TupleValue& value, uint32_t type_oid) {
    return ColumnTimestamp(value, type_oid);
  }
  static WallTime Since1970(Micros micros) { return WallTime(micros); }
  // Microseconds since 1970 in Postgres' binary form.
  static std::string BinaryTime(int64_t micros) { return BigEndian(micros - 946'684'800'000'000); }
};

TEST_F(ColumnTimestampTest, TextOfBothTimestampTypes) {
  const WallTime time = Since1970(Micros(1'795'162'442'000'123));
  for (const uint32_t oid : {kTimestampOid, kTimestamptzOid}) {
    EXPECT_TRUE(IsTimestampType(oid));
    EXPECT_THAT(Of(Text("2026-11-20 08:14:02.000123"), oid), IsOkAndHolds(Optional(time)));
    EXPECT_THAT(Of(Text("2026-11-20 13:44:02.000123+05:30"), oid), IsOkAndHolds(Optional(time)));
    EXPECT_THAT(Of(TupleValue(), oid), IsOkAndHolds(std::nullopt));
  }
}

TEST_F(ColumnTimestampTest, BinaryOfBothTimestampTypes) {
  for (const uint32_t oid : {kTimestampOid, kTimestamptzOid}) {
    EXPECT_THAT(Of(Binary(BinaryTime(0)), oid), IsOkAndHolds(Optional(Since1970(Micros(0)))));
    EXPECT_THAT(Of(Binary(BinaryTime(1'795'162'442'000'123)), oid),
                IsOkAndHolds(Optional(Since1970(Micros(1'795'162'442'000'123)))));
  }
}

TEST_F(ColumnTimestampTest, MillisecondsAreAcceptedUpToTheMicrosecondLimit) {
  EXPECT_TRUE(IsTimestampType(kInt8Oid));
  EXPECT_THAT(Of(Text("1795162442123"), kInt8Oid),
              IsOkAndHolds(Optional(Since1970(std::chrono::milliseconds(1'795'162'442'123)))));
  EXPECT_THAT(Of(Text("0"), kInt8Oid), IsOkAndHolds(Optional(WallTime())));
  EXPECT_THAT(Of(Text("9223372036854775"), kInt8Oid),
              IsOkAndHolds(Optional(Since1970(Micros(9'223'372'036'854'775'000)))));
  EXPECT_THAT(Of(Text("9223372036854776"), kInt8Oid), HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(Of(Binary(BigEndian(int64_t{9'223'372'036'854'776})), kInt8Oid),
              HasError(ErrorCode::kValueInvalid));
  EXPECT_THAT(Of(Binary("1234"), kInt8Oid), HasError(ErrorCode::kValueInvalid));
}

// The smallest int64 times 1000 is 0 modulo 2^64.
TEST_F(ColumnTimestampTest, MillisecondsFarBefore1970DoNotOverflow) {
  for (const int64_t millis : {std::numeric_limits<int64_t>::min(), int64_t{-9'223'372'036'854'776},
                               int64_t{-18'446'744'073'709'552}, int64_t{-1}}) {
    EXPECT_THAT(Of(Text(fmt::format("{}", millis)), kInt8Oid), HasError(ErrorCode::kValueInvalid))
        << millis;
    EXPECT_THAT(Of(Binary(BigEndian(millis)), kInt8Oid), HasError(ErrorCode::kValueInvalid))
        << millis;
  }
}

TEST_F(ColumnTimestampTest, TimeThatKafkaCannotStoreIsRefusedAndShown) {
  for (const char* text :
       {"infinity", "-infinity", "1969-12-31 23:59:59.999999+00", "0044-03-15 12:00:00+00 BC",
        "1970-01-01 00:00:00+00:00:01", "294276-12-31 23:59:59+00", "", "yesterday"}) {
    EXPECT_THAT(Of(Text(text), kTimestamptzOid), HasError(ErrorCode::kValueInvalid, text)) << text;
  }
  for (const int64_t micros :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max() - 946'684'800'000'000 + 1}) {
    EXPECT_THAT(Of(Binary(BigEndian(micros)), kTimestampOid), HasError(ErrorCode::kValueInvalid))
        << micros;
  }
  EXPECT_THAT(Of(Binary(BinaryTime(-1)), kTimestamptzOid), HasError(ErrorCode::kValueInvalid));
}

TEST_F(ColumnTimestampTest, TextAndBinaryHaveTheSameRange) {
  const int64_t last = std::numeric_limits<int64_t>::max();
  const auto text = Of(Text("294247-01-10 04:00:54.775807+00"), kTimestamptzOid);
  EXPECT_THAT(text, IsOkAndHolds(Optional(WallTime::max())));
  EXPECT_THAT(Of(Binary(BinaryTime(last)), kTimestamptzOid),
              IsOkAndHolds(Optional(WallTime::max())));
}

TEST_F(ColumnTimestampTest, WrongTypeIsRefusedEvenForNull) {
  for (const uint32_t oid : {uint32_t{kTextOid}, uint32_t{kInt4Oid}, uint32_t{1082}}) {
    EXPECT_FALSE(IsTimestampType(oid));
    EXPECT_THAT(Of(TupleValue(), oid), HasError(ErrorCode::kColumnType, "timestamp"));
  }
}

}  // namespace
}  // namespace walrelay

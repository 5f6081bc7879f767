#include "encode/java_number.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace walrelay {
namespace {

std::string Double(double number) {
  std::string out;
  AppendJavaDouble(number, out);
  return out;
}
std::string Float(float number) {
  std::string out;
  AppendJavaFloat(number, out);
  return out;
}
std::string BigDecimal(std::string_view text) {
  std::string out;
  AppendBigDecimal(text, out);
  return out;
}

TEST(JavaNumberTest, DoublesUseAnExponentFromTenMillionOn) {
  EXPECT_EQ(Double(0), "0.0");
  EXPECT_EQ(Double(-0.0), "-0.0");
  EXPECT_EQ(Double(100), "100.0");
  EXPECT_EQ(Double(1.1), "1.1");
  EXPECT_EQ(Double(9999999), "9999999.0");
  EXPECT_EQ(Double(10000000), "1.0E7");
  EXPECT_EQ(Double(12345678.9), "1.23456789E7");
  EXPECT_EQ(Double(0.001), "0.001");
  EXPECT_EQ(Double(0.00099), "9.9E-4");
  EXPECT_EQ(Double(1e21), "1.0E21");
  EXPECT_EQ(Double(1e-8), "1.0E-8");
  EXPECT_EQ(Double(-39.98), "-39.98");
  EXPECT_EQ(Double(0.1234567890123456789012), "0.12345678901234568");
}

TEST(JavaNumberTest, SmallestNumbersHaveTwoDigits) {
  EXPECT_EQ(Double(std::numeric_limits<double>::denorm_min()), "4.9E-324");
  EXPECT_EQ(Double(std::numeric_limits<double>::max()), "1.7976931348623157E308");
  EXPECT_EQ(Float(std::numeric_limits<float>::denorm_min()), "1.4E-45");
  EXPECT_EQ(Float(std::numeric_limits<float>::max()), "3.4028235E38");
}

TEST(JavaNumberTest, FloatsAreShorterThanDoubles) {
  EXPECT_EQ(Float(1.5f), "1.5");
  EXPECT_EQ(Float(0.1f), "0.1");
  EXPECT_EQ(Float(16777216.0f), "1.6777216E7");
}

TEST(JavaNumberTest, NonFiniteNumbersHaveNames) {
  EXPECT_EQ(Double(std::nan("")), "NaN");
  EXPECT_EQ(Double(INFINITY), "Infinity");
  EXPECT_EQ(Float(-INFINITY), "-Infinity");
}

TEST(JavaNumberTest, EveryDoubleRoundTrips) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bits = random();
    double number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    if (std::isfinite(number)) {
      const std::string text = Double(number);
      double back = 0;
      std::from_chars(text.data(), text.data() + text.size(), back);
      ASSERT_EQ(back, number) << text;
    }
  }
}

TEST(JavaNumberTest, BigDecimalsKeepTheirScale) {
  EXPECT_EQ(BigDecimal("12.30"), "12.30");
  EXPECT_EQ(BigDecimal("-0.05"), "-0.05");
  EXPECT_EQ(BigDecimal("100"), "100");
  EXPECT_EQ(BigDecimal("0"), "0");
  EXPECT_EQ(BigDecimal("0.000000"), "0.000000");
  EXPECT_EQ(BigDecimal("0.0000000"), "0E-7");
  EXPECT_EQ(BigDecimal("0.0000001000"), "1.000E-7");
  EXPECT_EQ(BigDecimal("-0.00000001"), "-1E-8");
}

TEST(JavaNumberTest, UnscaledBytesAreAsShortAsTheSignAllows) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::string out;
    for (const int value : values) {
      out += static_cast<char>(value);
    }
    return out;
  };
  EXPECT_EQ(UnscaledBytes("12.30"), bytes({0x04, 0xCE}));
  EXPECT_EQ(UnscaledBytes("12.3"), bytes({0x7B}));
  EXPECT_EQ(UnscaledBytes("0"), bytes({0}));
  EXPECT_EQ(UnscaledBytes("-0.00"), bytes({0}));
  EXPECT_EQ(UnscaledBytes("127"), bytes({0x7F}));
  EXPECT_EQ(UnscaledBytes("128"), bytes({0x00, 0x80}));
  EXPECT_EQ(UnscaledBytes("-1"), bytes({0xFF}));
  EXPECT_EQ(UnscaledBytes("-128"), bytes({0x80}));
  EXPECT_EQ(UnscaledBytes("-129"), bytes({0xFF, 0x7F}));
  EXPECT_EQ(UnscaledBytes("-256"), bytes({0xFF, 0x00}));
  EXPECT_EQ(UnscaledBytes("18446744073709551616"), bytes({1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(UnscaledBytes("-18446744073709551616"), bytes({0xFF, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(JavaNumberTest, OnlyPlainNumbersAreDecimals) {
  for (const char* text : {"1", "-1.5", "+2", ".5", "5."}) {
    EXPECT_TRUE(IsDecimal(text)) << text;
  }
  for (const char* text : {"", "-", ".", "1.2.3", "NaN", "1e5", "--1", "1 "}) {
    EXPECT_FALSE(IsDecimal(text)) << text;
  }
}

}  // namespace
}  // namespace walrelay

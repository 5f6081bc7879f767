#include "encode/java_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

namespace walrelay {
namespace {

// The digits of a number without sign: 0.d1d2d3… × 10^(exponent + 1).
struct Digits {
  std::string digits;
  int exponent = 0;  // of the first digit
};

// "1.25e+03": the digits and the exponent that to_chars() has found are the same that Java finds,
// only the form differs.
Digits ParseScientific(std::string_view text) {
  Digits out;
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') {
      out.digits += c;
    }
  }
  // from_chars does not accept a plus sign.
  std::string_view exponent = text.substr(e + 1);
  exponent.remove_prefix(exponent.starts_with('+') ? 1 : 0);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), out.exponent);
  return out;
}

// Java writes at least two digits, and of the candidates with two digits the nearest: 4.9E-324,
// where 5E-324 would suffice.
template <typename Float>
Digits ShortestDigits(Float number) {
  // Larger than the shortest form of any double: sign, 17 digits, point and exponent.
  std::array<char, 64> text;
  auto end = std::to_chars(text.begin(), text.end(), number, std::chars_format::scientific).ptr;
  Digits out = ParseScientific({text.data(), static_cast<size_t>(end - text.data())});
  if (out.digits.size() == 1) {
    end = std::to_chars(text.begin(), text.end(), number, std::chars_format::scientific, 1).ptr;
    out = ParseScientific({text.data(), static_cast<size_t>(end - text.data())});
  }
  return out;
}

// "x.y", without trailing zeros except one directly after the point.
void AppendPoint(std::string_view whole, std::string_view fraction, std::string& out) {
  out += whole.empty() ? "0" : whole;
  out += '.';
  fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  out += fraction.empty() ? "0" : fraction;
}

template <typename Float>
// The form changes at 10^-3 and 10^7, as the documentation of Double.toString() says.
void AppendFloat(Float number, std::string& out) {
  if (std::isnan(number)) {
    out += "NaN";
    return;
  }
  // Also for -0.0, which Java prints as "-0.0".
  if (std::signbit(number)) {
    out += '-';
    number = -number;
  }
  if (std::isinf(number)) {
    out += "Infinity";
    return;
  }
  if (number == 0) {
    out += "0.0";
    return;
  }
  const Digits all = ShortestDigits(number);
  const std::string_view digits = all.digits;
  if (all.exponent < -3 || all.exponent >= 7) {
    AppendPoint(digits.substr(0, 1), digits.substr(1), out);
    fmt::format_to(std::back_inserter(out), "E{}", all.exponent);
  } else if (all.exponent < 0) {
    const std::string zeros(static_cast<size_t>(-all.exponent - 1), '0');
    AppendPoint("", zeros + all.digits, out);
  } else {
    const auto whole = static_cast<size_t>(all.exponent) + 1;
    std::string padded = all.digits;
    padded.resize(std::max(padded.size(), whole), '0');
    AppendPoint(std::string_view(padded).substr(0, whole), std::string_view(padded).substr(whole),
                out);
  }
}

struct DecimalParts {
  bool negative = false;
  std::string digits;  // of the unscaled value, without leading zeros; "0"
  size_t scale = 0;
};

// The value is digits * 10^-scale, as in BigDecimal.
DecimalParts SplitDecimal(std::string_view text) {
  DecimalParts out;
  if (text.starts_with('-') || text.starts_with('+')) {
    out.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const size_t point = text.find('.');
  out.digits = text.substr(0, point);
  if (point != std::string_view::npos) {
    out.digits += text.substr(point + 1);
    out.scale = text.size() - point - 1;
  }
  out.digits.erase(0, std::min(out.digits.find_first_not_of('0'), out.digits.size() - 1));
  out.negative = out.negative && out.digits != "0";
  return out;
}

// Little endian, in words of 32 bits, nine digits at a time.
// Quadratic in the number of digits, which the row's limit bounds.
std::vector<uint32_t> ToWords(std::string_view digits) {
  // 10^9 fits into 32 bits, so a word times the factor plus the carry fits into 64.
  constexpr size_t kChunk = 9;
  std::vector<uint32_t> words;
  while (!digits.empty()) {
    // The first chunk takes the odd digits, so that all others have nine.
    const size_t size = digits.size() % kChunk == 0 ? kChunk : digits.size() % kChunk;
    uint64_t carry = 0;
    std::from_chars(digits.data(), digits.data() + size, carry);
    uint64_t factor = 1;
    for (size_t i = 0; i < size; ++i) {
      factor *= 10;
    }
    for (uint32_t& word : words) {
      carry += word * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) {
      words.push_back(static_cast<uint32_t>(carry));
    }
    digits.remove_prefix(size);
  }
  return words;
}

}  // namespace

void AppendJavaDouble(double number, std::string& out) {
  AppendFloat(number, out);
}

void AppendJavaFloat(float number, std::string& out) {
  AppendFloat(number, out);
}

bool IsDecimal(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const auto points = std::count(text.begin(), text.end(), '.');
  return points <= 1 && text.size() > static_cast<size_t>(points) &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// BigDecimal.toString(): scientific if the adjusted exponent is below -6; a scale from text is
// never negative.
void AppendBigDecimal(std::string_view text, std::string& out) {
  const DecimalParts parts = SplitDecimal(text);
  const std::string_view digits = parts.digits;
  const auto scale = static_cast<int64_t>(parts.scale);
  const int64_t adjusted = static_cast<int64_t>(digits.size()) - 1 - scale;
  out += parts.negative ? "-" : "";
  if (scale == 0) {
    out += digits;
  } else if (adjusted < -6) {
    out += digits[0];
    if (digits.size() > 1) {
      out += '.';
      out += digits.substr(1);
    }
    fmt::format_to(std::back_inserter(out), "E{}", adjusted);
  } else if (digits.size() > parts.scale) {
    out += digits.substr(0, digits.size() - parts.scale);
    out += '.';
    out += digits.substr(digits.size() - parts.scale);
  } else {
    out += "0.";
    out.append(parts.scale - digits.size(), '0');
    out += digits;
  }
}

// Two's complement by inverting and adding one.
std::string UnscaledBytes(std::string_view text) {
  const DecimalParts parts = SplitDecimal(text);
  std::string bytes;  // little endian until reversed
  for (const uint32_t word : ToWords(parts.digits)) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(word >> shift);
    }
  }
  bytes += '\0';  // the sign
  if (parts.negative) {
    int carry = 1;
    for (char& byte : bytes) {
      const int value = (~static_cast<unsigned char>(byte) & 0xFF) + carry;
      byte = static_cast<char>(value);
      carry = value >> 8;
    }
  }
  // Omit a leading byte that only repeats the sign of the next one.
  const char sign = parts.negative ? '\xFF' : '\0';
  while (bytes.size() > 1 && bytes.back() == sign &&
         ((bytes[bytes.size() - 2] & 0x80) != 0) == parts.negative) {
    bytes.pop_back();
  }
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace walrelay

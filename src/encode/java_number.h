// Numbers as Java prints them, and decimals as it stores them.
//
// Double.toString and Float.toString are those of Java 19 and later: the shortest decimal that
// parses to the same number. (In earlier versions JDK-4511638 adds an unnecessary digit to one
// number in some thousands.)
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// "1.0E21", "100.0", "-0.0", "4.9E-324", "NaN", "-Infinity".
void AppendJavaDouble(double number, std::string& out);
void AppendJavaFloat(float number, std::string& out);

// BigDecimal.toString of a decimal as printed by Postgres. The result for a text that is not
// IsDecimal() is meaningless: a Decimal is made only from text that was checked.
void AppendBigDecimal(std::string_view text, std::string& out);

// BigDecimal.unscaledValue().toByteArray(): two's complement, big endian, as short as possible.
// Text as above.
// Time is quadratic in the number of digits, which the row's limit bounds.
std::string UnscaledBytes(std::string_view text);

// Digits, at most one point, at most one leading sign.
bool IsDecimal(std::string_view text);

}  // namespace walrelay

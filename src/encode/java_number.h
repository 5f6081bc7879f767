// Numbers as Java prints them, and as it stores decimals.
//
// Double.toString and Float.toString are those of Java 19 and later: the shortest decimal that is
// read back as the same number. (Before, JDK-4511638 gave one number in some thousands a digit too
// many.)
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// "1.0E21", "100.0", "-0.0", "4.9E-324", "NaN", "-Infinity".
void AppendJavaDouble(double number, std::string& out);
void AppendJavaFloat(float number, std::string& out);

// BigDecimal.toString of a decimal as Postgres prints it. REQUIRES: IsDecimal(text).
void AppendBigDecimal(std::string_view text, std::string& out);

// BigDecimal.unscaledValue().toByteArray(): two's complement, big endian, as short as can be.
// REQUIRES: IsDecimal(text).
std::string UnscaledBytes(std::string_view text);

// Digits, at most one point, at most one sign in front.
bool IsDecimal(std::string_view text);

}  // namespace walrelay

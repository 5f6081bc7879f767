#include "encode/interval_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace walrelay {
namespace {

// Consumes a number; from_chars() does not accept a plus sign.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view& text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeCharacter(char character, std::string_view& text) {
  const bool found = text.starts_with(character);
  text.remove_prefix(found ? 1 : 0);
  return found;
}

// Whole seconds and the fraction, each rounded on its own, as PGInterval stores them.
double StoredSeconds(double seconds) {
  const double whole = std::trunc(seconds);
  return whole + std::round((seconds - whole) * 1e6) / 1e6;
}

// "-04:05:06.789": the sign is that of all three.
bool TakeTime(std::string_view text, Interval& out) {
  const bool negative = TakeCharacter('-', text);
  const auto hours = TakeNumber<int32_t>(text);
  if (!hours || !TakeCharacter(':', text)) {
    return false;
  }
  const auto minutes = TakeNumber<int32_t>(text);
  if (!minutes || !TakeCharacter(':', text)) {
    return false;
  }
  const auto seconds = TakeNumber<double>(text);
  if (!seconds || !text.empty()) {
    return false;
  }
  out.hours = negative ? -*hours : *hours;
  out.minutes = negative ? -*minutes : *minutes;
  out.seconds = StoredSeconds(negative ? -*seconds : *seconds);
  return true;
}

// "2 mons": a number and its unit, with a space behind it if more follows.
bool TakePart(std::string_view& text, Interval& out) {
  const auto number = TakeNumber<int32_t>(text);
  if (!number || !TakeCharacter(' ', text)) {
    return false;
  }
  const std::string_view unit = text.substr(0, text.find(' '));
  text.remove_prefix(unit.size());
  TakeCharacter(' ', text);
  if (unit == "year" || unit == "years") {
    out.years = *number;
  } else if (unit == "mon" || unit == "mons") {
    out.months = *number;
  } else if (unit == "day" || unit == "days") {
    out.days = *number;
  } else {
    return false;
  }
  return true;
}

// A number without an exponent and without unnecessary zeros, and with at most nine digits behind
// the point; the rest is cut.
std::string PlainText(double number) {
  std::array<char, 64> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  std::string text(buffer.data(), end);
  constexpr size_t kMostDigits = 9;
  const size_t point = text.find('.');
  if (point == std::string::npos) {
    return text == "-0" ? "0" : text;
  }
  text = text.substr(0, point + 1 + kMostDigits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

}  // namespace

std::optional<Interval> ParseInterval(std::string_view text) {
  Interval out;
  if (text.empty()) {
    return std::nullopt;
  }
  while (!text.empty()) {
    if (text.find(' ') == std::string_view::npos && text.find(':') != std::string_view::npos) {
      return TakeTime(text, out) ? std::optional(out) : std::nullopt;
    }
    if (!TakePart(text, out)) {
      return std::nullopt;
    }
  }
  return out;
}

// The order of the operations matters: each step is rounded.
int64_t IntervalMicros(const Interval& interval) {
  constexpr double kDaysPerMonth = 365.25 / 12.0;
  const int64_t months = int64_t{interval.years} * 12 + interval.months;
  const double days = static_cast<double>(months) * kDaysPerMonth + interval.days;
  const double seconds =
      ((days * 24 + interval.hours) * 60 + interval.minutes) * 60 + interval.seconds;
  const double micros = seconds * 1e6;
  // As a cast in Java. The limits are not doubles: the comparison is with the next larger one.
  constexpr double kBeyond = 9223372036854775808.0;
  if (micros >= kBeyond) {
    return std::numeric_limits<int64_t>::max();
  }
  return micros < -kBeyond ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(micros);
}

std::string IntervalIsoText(const Interval& interval) {
  return fmt::format("P{}Y{}M{}DT{}H{}M{}S", interval.years, interval.months, interval.days,
                     interval.hours, interval.minutes, PlainText(interval.seconds));
}

}  // namespace walrelay

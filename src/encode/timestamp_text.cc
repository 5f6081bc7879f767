#include "encode/timestamp_text.h"

#include <charconv>
#include <chrono>

namespace walrelay {
namespace {

// Reads fixed pieces from the front of a text; after a failure every further read fails too.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int Number(size_t least_digits, size_t most_digits) {
    size_t digits = 0;
    while (digits < most_digits && digits < rest_.size() && rest_[digits] >= '0' &&
           rest_[digits] <= '9') {
      ++digits;
    }
    int value = 0;
    ok_ = ok_ && digits >= least_digits;
    if (ok_) {
      std::from_chars(rest_.data(), rest_.data() + digits, value);
      rest_.remove_prefix(digits);
    }
    return value;
  }

  // Two digits that stand for less than `limit`.
  int TwoDigits(int limit) {
    const int value = Number(2, 2);
    ok_ = ok_ && value < limit;
    return value;
  }

  void Expect(char character) { ok_ = Accept(character) && ok_; }

  bool Accept(char character) {
    if (!ok_ || rest_.empty() || rest_[0] != character) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  // Up to six digits behind the point, as microseconds.
  int Fraction() {
    if (!Accept('.')) {
      return 0;
    }
    const size_t before = rest_.size();
    int value = Number(1, 6);
    for (size_t digits = before - rest_.size(); digits < 6; ++digits) {
      value *= 10;
    }
    return value;
  }

  bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::chrono::seconds TimeOfDay(Scanner& in) {
  std::chrono::seconds time = std::chrono::hours(in.TwoDigits(24));
  in.Expect(':');
  time += std::chrono::minutes(in.TwoDigits(60));
  in.Expect(':');
  return time + std::chrono::seconds(in.TwoDigits(60));
}

std::chrono::seconds ZoneOffset(Scanner& in) {
  const bool west = in.Accept('-');
  if (!west && !in.Accept('+')) {
    return std::chrono::seconds(0);
  }
  std::chrono::seconds offset = std::chrono::hours(in.TwoDigits(24));
  if (in.Accept(':')) {
    offset += std::chrono::minutes(in.TwoDigits(60));
  }
  if (in.Accept(':')) {
    offset += std::chrono::seconds(in.TwoDigits(60));
  }
  return west ? -offset : offset;
}

// std::chrono's years end at 32767, Postgres' go on to 294276; the calendar repeats every 400
// years.
std::optional<std::chrono::sys_seconds> Midnight(int year, int month, int day) {
  constexpr std::chrono::days kFourCenturies{146'097};
  const std::chrono::year_month_day date{std::chrono::year(2000 + year % 400),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1 || !date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + kFourCenturies * (year / 400 - 5);
}

}  // namespace

std::optional<WallTime> ParseTimestamp(std::string_view text) {
  Scanner in(text);
  const int year = in.Number(4, 6);
  in.Expect('-');
  const int month = in.TwoDigits(13);
  in.Expect('-');
  const int day = in.TwoDigits(32);
  in.Expect(' ');
  std::chrono::seconds since_midnight = TimeOfDay(in);
  const Micros fraction(in.Fraction());
  since_midnight -= ZoneOffset(in);

  const auto midnight = Midnight(year, month, day);
  if (!in.finished() || !midnight) {
    return std::nullopt;
  }
  constexpr auto kLatest = std::chrono::floor<std::chrono::seconds>(WallTime::max());
  const std::chrono::sys_seconds time = *midnight + since_midnight;
  if (time > kLatest || (time == kLatest && fraction > WallTime::max() - kLatest)) {
    return std::nullopt;
  }
  return WallTime(time) + fraction;
}

}  // namespace walrelay

#include "encode/timestamp_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace walrelay {
namespace {

// Consumes fixed parts from the front of a text; after a failure every further read fails too.
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

  // Two digits with a value below `limit`.
  int TwoDigits(int limit) {
    const int value = Number(2, 2);
    ok_ = ok_ && value < limit;
    return value;
  }

  // The failure is remembered, so that the callers check once at the end.
  void Expect(char character) { ok_ = Accept(character) && ok_; }

  bool Accept(char character) {
    if (!ok_ || rest_.empty() || rest_[0] != character) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  // Up to six digits after the point, as microseconds.
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

// `hours` is an exclusive upper bound.
std::chrono::seconds TimeOfDay(Scanner& in, int hours = 24) {
  std::chrono::seconds time = std::chrono::hours(in.TwoDigits(hours));
  in.Expect(':');
  time += std::chrono::minutes(in.TwoDigits(60));
  in.Expect(':');
  return time + std::chrono::seconds(in.TwoDigits(60));
}

// "+02", "+05:30" or, for historical zones, "+00:19:32".
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
  // The offset is what the zone is ahead of UTC; the callers subtract it.
  return west ? -offset : offset;
}

// std::chrono's years end at 32767, those of Postgres at 294276; the calendar repeats every 400
// years.
constexpr std::chrono::days kFourCenturies{146'097};

// Postgres' calendar is proleptic Gregorian, as std::chrono's.
std::optional<std::chrono::sys_days> Midnight(int year, int month, int day) {
  // Rounded down, also for years before 0.
  const int cycle = year >= 0 ? year / 400 : (year - 399) / 400;
  const std::chrono::year_month_day date{std::chrono::year(2000 + year - cycle * 400),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + kFourCenturies * (cycle - 5);
}

struct Date {
  int year = 0;
  int month = 0;
  int day = 0;
};

// The day's limit is checked by Midnight(), which knows the months.
Date ScanDate(Scanner& in) {
  Date date;
  // DateStyle ISO, which the session sets: year, month, day; at least four digits of the year.
  date.year = in.Number(4, 7);
  in.Expect('-');
  date.month = in.TwoDigits(13);
  in.Expect('-');
  date.day = in.TwoDigits(32);
  return date;
}

// 1 BC is the year 0.
std::optional<std::chrono::sys_days> FinishDate(Scanner& in, const Date& date) {
  const bool before_christ = in.Accept(' ');
  if (before_christ) {
    in.Expect('B');
    in.Expect('C');
  }
  if (!in.finished() || date.year < 1) {
    return std::nullopt;
  }
  return Midnight(before_christ ? 1 - date.year : date.year, date.month, date.day);
}

// "08:14:02.50"
std::string ClockText(std::chrono::seconds of_day, int micros, int fraction_digits) {
  const std::chrono::hh_mm_ss clock(of_day);
  std::string out = fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(),
                                clock.seconds().count());
  if (fraction_digits == kShortestFraction && micros != 0) {
    out += fmt::format(".{:06}", micros);
    out.erase(out.find_last_not_of('0') + 1);
  } else if (fraction_digits > 0) {
    out += fmt::format(".{:06}", micros).substr(0, static_cast<size_t>(fraction_digits) + 1);
  }
  return out;
}

}  // namespace

// "infinity" fails at the first digit.
std::optional<Instant> ParseInstant(std::string_view text) {
  Scanner in(text);
  const Date date = ScanDate(in);
  in.Expect(' ');
  std::chrono::seconds since_midnight = TimeOfDay(in);
  const int micros = in.Fraction();
  since_midnight -= ZoneOffset(in);
  const auto midnight = FinishDate(in, date);
  if (!midnight) {
    return std::nullopt;
  }
  const std::chrono::sys_seconds time = *midnight + since_midnight;
  return Instant{time.time_since_epoch().count(), micros};
}

// Kafka has no timestamps before 1970, so years BC need not be represented.
std::optional<WallTime> ParseTimestamp(std::string_view text) {
  const auto instant = ParseInstant(text);
  constexpr auto kLatest = std::chrono::floor<std::chrono::seconds>(WallTime::max());
  if (!instant || text.ends_with("BC")) {
    return std::nullopt;
  }
  const std::chrono::sys_seconds time{std::chrono::seconds(instant->seconds)};
  const Micros fraction(instant->micros);
  if (time > kLatest || (time == kLatest && fraction > WallTime::max() - kLatest)) {
    return std::nullopt;
  }
  return WallTime(time) + fraction;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  Scanner in(text);
  const Date date = ScanDate(in);
  const auto midnight = FinishDate(in, date);
  return midnight ? std::optional<int64_t>(midnight->time_since_epoch().count()) : std::nullopt;
}

std::optional<ClockTime> ParseClock(std::string_view text) {
  constexpr std::chrono::hours kDay(24);
  Scanner in(text);
  // "24:00:00" is the end of the day, but no later time has the hour 24.
  ClockTime out{.of_day = TimeOfDay(in, 25)};
  out.of_day += Micros(in.Fraction());
  out.offset = ZoneOffset(in);
  return in.finished() && out.of_day <= kDay ? std::optional(out) : std::nullopt;
}

// The zone is subtracted, so the result may be negative or more than a day.
std::optional<Micros> ParseTimeOfDay(std::string_view text) {
  const auto time = ParseClock(text);
  return time ? std::optional(time->of_day - time->offset) : std::nullopt;
}

std::string IsoTimestamp(Instant instant, int fraction_digits) {
  const std::chrono::sys_seconds time{std::chrono::seconds(instant.seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  return fmt::format("{}T{}Z", IsoDate(day.time_since_epoch().count()),
                     ClockText(time - day, instant.micros, fraction_digits));
}

CivilDate CivilOf(int64_t days) {
  const std::chrono::sys_days day{std::chrono::days(days)};
  // Map into the four centuries from 2000 on, and back.
  const int64_t cycles =
      std::chrono::floor<std::chrono::duration<int64_t, std::ratio<146'097 * 86'400LL>>>(
          day - std::chrono::sys_days(std::chrono::year(2000) / 1 / 1))
          .count();
  const std::chrono::year_month_day date(day - kFourCenturies * cycles);
  return {.year = static_cast<int>(date.year()) + cycles * 400,
          .month = static_cast<int>(static_cast<unsigned>(date.month())),
          .day = static_cast<int>(static_cast<unsigned>(date.day()))};
}

// java.time prints years beyond four digits with a sign.
std::string IsoDate(int64_t days) {
  const auto [year, month, day] = CivilOf(days);
  return fmt::format("{}{:04}-{:02}-{:02}", year < 0 ? "-" : (year > 9999 ? "+" : ""),
                     year < 0 ? -year : year, month, day);
}

std::string IsoTime(Micros time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return ClockText(seconds, static_cast<int>((time - seconds).count()), kShortestFraction) + "Z";
}

}  // namespace walrelay

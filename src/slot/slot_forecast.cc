#include "slot/slot_forecast.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Sampling may be more frequent; entries are not, so that 15 minutes are 180 entries.
constexpr Micros kSpacing = seconds(5);
constexpr Micros kShort = minutes(1);
constexpr Micros kLong = minutes(15);
constexpr Micros kMinToMeasure = seconds(5);
// restart_lsn moves in steps of 15 seconds in normal operation; this is four of them.
constexpr Micros kNotMoving = minutes(1);
// One step more or less must not appear as a trend.
constexpr Micros kMinToCompare = minutes(5);
constexpr double kNoTrend = 0.1;
// Beyond this horizon a forecast is meaningless.
constexpr Micros kSight = std::chrono::hours(24 * 30);

// The time in which `bytes` are written at a constant rate. nullopt: never, or too far away to say.
std::optional<Micros> TimeFor(double bytes, double per_second) {
  if (bytes <= 0) {
    return Micros(0);
  }
  const double time = per_second > 0 ? bytes / per_second : 0;
  const std::chrono::duration<double> in_seconds(time);
  return per_second > 0 && in_seconds < kSight
             ? std::optional(std::chrono::duration_cast<Micros>(in_seconds))
             : std::nullopt;
}

}  // namespace

// Positions of different servers are not comparable: all entries are dropped when the WAL appears
// to shrink.
void SlotForecast::AddSample(MonoTime now, const Positions& positions) {
  const bool other_wal = !samples_.empty() && positions.wal_end < samples_.back().positions.wal_end;
  if (other_wal) {
    samples_.clear();
  }
  WR_CHECK(samples_.empty() || now >= samples_.back().at, "samples are in the order of time");
  if (samples_.empty() || samples_.back().positions.restart != positions.restart) {
    restart_moved_ = now;
  }
  // The last entry is replaced by the current one; earlier entries are kSpacing apart.
  if (samples_.size() >= 2 && now - samples_[samples_.size() - 2].at < kSpacing) {
    samples_.pop_back();
  }
  samples_.push_back({now, positions});
  while (now - samples_.front().at > kLong) {
    samples_.pop_front();
  }
}

// The rates are between two entries and not fitted to all: the window bounds how old the first one
// is.
std::optional<SlotForecast::Rates> SlotForecast::RatesOver(Micros window, Micros least) const {
  if (samples_.empty()) {
    return std::nullopt;
  }
  WR_CHECK(least > Micros(0), "a rate needs a time that has passed");
  WR_CHECK(window >= least, "the newest sample is within the window");
  const Entry& last = samples_.back();
  const Entry& first = *std::find_if(samples_.begin(), samples_.end(), [&](const Entry& sample) {
    return last.at - sample.at <= window;
  });
  if (last.at - first.at < least) {
    return std::nullopt;
  }
  const double time = std::chrono::duration<double>(last.at - first.at).count();
  const auto rate = [time](Lsn from, Lsn to) {
    return static_cast<double>(BytesBetween(from, to)) / time;
  };
  return Rates{.wal = rate(first.positions.wal_end, last.positions.wal_end),
               .confirmed = rate(first.positions.confirmed, last.positions.confirmed),
               .restart = rate(first.positions.restart, last.positions.restart)};
}

std::optional<double> SlotForecast::WalBytesPerSecond() const {
  const auto now = RatesOver(kShort, kMinToMeasure);
  const auto lately = RatesOver(kLong, kMinToMeasure);
  return now && lately ? std::optional(std::max(now->wal, lately->wal)) : std::nullopt;
}

std::optional<double> SlotForecast::ConfirmedBytesPerSecond() const {
  const auto now = RatesOver(kShort, kMinToMeasure);
  return now ? std::optional(now->confirmed) : std::nullopt;
}

// 0 while the slot keeps up: then no loss can be foreseen.
double SlotForecast::ShrinkPerSecond() const {
  if (samples_.empty()) {
    return 0;
  }
  if (samples_.back().at - restart_moved_ >= kNotMoving) {
    return WalBytesPerSecond().value_or(0);
  }
  const auto trend = RatesOver(kLong, kMinToCompare);
  if (!trend) {
    return 0;
  }
  const double shrink = trend->wal - trend->restart;
  return shrink > kNoTrend * trend->wal ? shrink : 0;
}

// `bytes` may be negative: the limit is passed already, and the rest is 0.
std::optional<Micros> SlotForecast::TimeToLoss(int64_t bytes) const {
  return TimeFor(static_cast<double>(bytes), ShrinkPerSecond());
}

// Only the last minute counts: what the relay did before an outage says nothing about now.
std::optional<Micros> SlotForecast::TimeUntilCaughtUp() const {
  const auto rates = RatesOver(kShort, kMinToMeasure);
  if (!rates || rates->confirmed <= rates->wal) {
    return std::nullopt;
  }
  WR_CHECK(!samples_.empty(), "a rate is measured between samples");
  const Positions& last = samples_.back().positions;
  return TimeFor(static_cast<double>(BytesBetween(last.confirmed, last.wal_end)),
                 rates->confirmed - rates->wal);
}

}  // namespace walrelay

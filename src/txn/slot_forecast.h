// SlotForecast: where the slot is heading, from looks at it.
//
// A slot is lost when the server has written more log beyond restart_lsn than it may keep. That
// reserve shrinks by what is written and grows by what is given free. restart_lsn moves in steps (a
// server that works logs a snapshot every 15 seconds, and only there can decoding begin again), so
// a difference between two looks says little:
//
// - While restart_lsn stands for longer than such steps take, all that is written is lost to the
//   reserve. The rate is the greater of the last minute's and the last quarter of an hour's: a
//   forecast may be early, not late.
// - While it moves, what counts is whether it keeps up, over minutes.
//
// (A straight line through the last looks would cry wolf between two steps of a slot that is well,
// and see too late, being an average, that it has stopped.)
//
// Keeps a quarter of an hour of looks, one each five seconds. Pure; not thread-safe.
#pragma once

#include <deque>
#include <optional>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

class SlotForecast {
 public:
  struct Positions {
    Lsn wal_end;
    Lsn confirmed;
    Lsn restart;
  };

  void Look(MonoTime now, const Positions& positions);

  // Log that the server writes; nullopt until there was time to measure.
  std::optional<double> WalBytesPerSecond() const;

  // How fast the confirmed position moves, over the last minute; nullopt as above.
  std::optional<double> ConfirmedBytesPerSecond() const;

  // Until a reserve of `bytes` is used up; nullopt when that is not in sight.
  std::optional<Micros> TimeToLoss(int64_t bytes) const;

  // Until the confirmed position has reached the end of the log, at the pace of the last minute;
  // nullopt when it does not come nearer.
  std::optional<Micros> TimeUntilCaughtUp() const;

 private:
  struct Entry {
    MonoTime at;
    Positions positions;
  };
  // What changed per second since the oldest look that is at most `window` old.
  struct Rates {
    double wal = 0;
    double confirmed = 0;
    double restart = 0;
  };

  // nullopt when there was no look at least `least` ago.
  std::optional<Rates> RatesOver(Micros window, Micros least) const;
  double ShrinkPerSecond() const;

  std::deque<Entry> looks_;  // by time
  MonoTime restart_moved_;
};

}  // namespace walrelay

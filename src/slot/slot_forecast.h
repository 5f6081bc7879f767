// SlotForecast: predicts from samples when the slot will be lost, or will have caught up.
//
// A slot is lost when the server has written more WAL beyond restart_lsn than the slot may retain.
// That reserve shrinks as WAL is written and grows as restart_lsn advances. restart_lsn moves in
// steps (an active server logs a snapshot every 15 seconds, and decoding can only restart there),
// so the difference between two samples is not conclusive:
//
// - While restart_lsn has not moved for longer than such steps take, all WAL written reduces the
//   reserve. The rate is the greater of the last minute's and the last 15 minutes': a forecast may
//   be early, but not late.
// - While it moves, the criterion is whether it keeps up, over minutes.
//
// (A linear fit through the last samples would raise false alarms between two steps of a healthy
// slot, and, being an average, would detect too late that restart_lsn has stopped.)
//
// Keeps 15 minutes of samples, one every five seconds. Pure; not thread-safe.
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

  // REQUIRES: `now` is not before the last sample's. A WAL that shrinks belongs to another server:
  // earlier samples are dropped.
  void AddSample(MonoTime now, const Positions& positions);

  // WAL that the server writes; nullopt until there are enough samples.
  std::optional<double> WalBytesPerSecond() const;

  // How fast the confirmed position moves, over the last minute; nullopt as above.
  std::optional<double> ConfirmedBytesPerSecond() const;

  // Until a reserve of `bytes` is used up; nullopt if that is not foreseeable.
  std::optional<Micros> TimeToLoss(int64_t bytes) const;

  // Until the confirmed position reaches the end of the WAL, at the rates of the last minute;
  // nullopt when it does not get closer.
  std::optional<Micros> TimeUntilCaughtUp() const;

 private:
  struct Entry {
    MonoTime at;
    Positions positions;
  };
  // Changes per second since the oldest sample that is at most `window` old.
  struct Rates {
    double wal = 0;
    double confirmed = 0;
    double restart = 0;
  };

  // nullopt without a sample that is at least `least` old.
  std::optional<Rates> RatesOver(Micros window, Micros least) const;
  double ShrinkPerSecond() const;

  std::deque<Entry> samples_;  // by time
  MonoTime restart_moved_;
};

}  // namespace walrelay

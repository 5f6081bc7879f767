// LsnAgeEstimator: the age of a WAL position.
//
// Postgres does not record when the WAL reached a position. LsnAgeEstimator estimates it from
// periodic samples of the end of the WAL. It keeps about a thousand samples. Beyond that it drops
// samples in proportion to their age, so that an age is accurate to about a thirtieth, however long
// the process runs.
//
// Pure; not thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

class LsnAgeEstimator {
 public:
  // One sample of the end of the WAL, in the order of time. An end before the last one is another
  // server or timeline: earlier samples are dropped. REQUIRES: `now` is not before the last
  // sample's.
  void AddSample(MonoTime now, Lsn wal_end);

  // How long ago the WAL ended at `position`; 0 if it still does. If that was before the first
  // sample: the time since the first sample, which is a lower bound. nullopt if it is unknown:
  // without a sample, and if the only one is beyond the position. REQUIRES: `now` is not before the
  // last sample's.
  std::optional<Micros> Age(MonoTime now, Lsn position) const;

 private:
  // Consecutive samples with the same end of the WAL.
  struct Entry {
    MonoTime first;
    MonoTime last;
    Lsn wal_end;
  };

  // Drops samples that their age makes superfluous.
  void Thin(MonoTime now);

  std::vector<Entry> samples_;  // by time, and so by position
};

}  // namespace walrelay

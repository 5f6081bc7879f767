// LagClock: how old a position of the log is, in time.
//
// Postgres knows no time for a position. But whoever looks at the end of the log now and then can
// say later when it was there. Kept are about a thousand looks; when there are more, old ones are
// forgotten in proportion to their age, so that an age is right to a thirtieth of itself however
// long the process runs.
//
// Pure; not thread-safe.
#pragma once

#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

class LagClock {
 public:
  void Look(MonoTime now, Lsn wal_end);

  // How long ago the log ended at `position`; 0 if it still does. When that was before the first
  // look: the time since then, which is the least that it can be.
  Micros Age(MonoTime now, Lsn position) const;

 private:
  // The looks, one after the other, that found the log's end at the same place.
  struct Entry {
    MonoTime first;
    MonoTime last;
    Lsn wal_end;
  };

  void Thin(MonoTime now);

  std::vector<Entry> looks_;  // by time, and so by position
};

}  // namespace walrelay

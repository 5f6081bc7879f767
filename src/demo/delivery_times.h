// DeliveryTimes: the time from commit to acknowledgement, separately for the events that the
// SIGKILL delayed and for all others.
//
// The SIGKILL delays an event that was acknowledged after it and committed before the first
// acknowledgement of the restarted relay. Not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "walrelay/clock.h"

namespace walrelay {

class DeliveryTimes {
 public:
  // Percentiles are observed values, not interpolated.
  struct Figures {
    size_t events = 0;  // the others are 0 if there are none
    Micros median{0};
    Micros p99{0};
    Micros max{0};
  };

  // The relay has exited. REQUIRES: not called before.
  // `at`: by this machine's clock. A second call aborts (WR_CHECK).
  void OutageBegan(WallTime at);
  // In the order of the acknowledgements. `committed` by the clock of Postgres, which the latency
  // takes into account: their sum is a time of this machine.
  // The first acknowledgement at or after OutageBegan() ends the outage.
  void Add(WallTime committed, Micros latency);

  // Sorts a copy of the latencies: for the summary, not for each event.
  Figures Undisturbed() const;
  Figures Delayed() const;
  // From the SIGKILL to the first acknowledgement after it; nullopt if there is none.
  std::optional<Micros> Outage() const;

 private:
  std::optional<WallTime> outage_began_;
  std::optional<WallTime> outage_ended_;
  std::vector<Micros> undisturbed_;
  std::vector<Micros> delayed_;
};

}  // namespace walrelay

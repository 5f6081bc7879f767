// RelayHost: what the simulated world tells the seams of one relay process, and hears from them.
#pragma once

#include <cstdint>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::sim {

class RelayHost {
 public:
  virtual ~RelayHost() = default;

  // A blocking call takes its time: the world goes on meanwhile. False when the process was killed,
  // or (for an interruptible call) asked to stop.
  virtual bool Pass(Micros time, bool interruptible) = 0;
  virtual bool killed() const = 0;
  // The process does not run (SIGSTOP).
  virtual bool asleep() const = 0;
  // It has been told to (SIGTERM).
  virtual bool asked_to_stop() const = 0;
  // A stream has started, on what was read from the catalog then.
  virtual void OnStreaming(MonoTime looked_at) = 0;

  // Producers made so far, and what is in flight in the one there is.
  virtual int producers() const = 0;
  virtual MonoTime last_report() const = 0;
  // Other processes have been at work in this history.
  virtual bool has_rivals() const = 0;
  virtual int number() const = 0;
  // Whether it is configured to drop a slot that keeps so much.
  virtual bool PastLimit(uint64_t retained_bytes) const = 0;

  // A file that survives the process. Only a mutant has one.
  virtual Lsn stored_position() const = 0;
  virtual void StorePosition(Lsn position) = 0;
};

}  // namespace walrelay::sim

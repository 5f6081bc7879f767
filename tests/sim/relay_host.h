// RelayHost: the interface between the simulation and the seams of one relay process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

// How long an attempt to connect blocks if the server does not answer.
inline constexpr Micros kConnectTimeout = std::chrono::seconds(10);

class RelayHost {
 public:
  virtual ~RelayHost() = default;

  // A blocking call lasts `time`; the simulation continues meanwhile. Returns false when the
  // process was killed, or (for an interruptible call) asked to stop.
  virtual bool Pass(Micros time, bool interruptible) = 0;
  virtual bool killed() const = 0;
  // The process is suspended (SIGSTOP).
  virtual bool asleep() const = 0;
  // The process has received SIGTERM.
  virtual bool asked_to_stop() const = 0;
  // A stream has started.
  virtual void OnStreaming() = 0;

  // The stream does not continue after the last one: a producer may get an event a second time.
  virtual void OnNewHistory() = 0;

  // A producer has accepted the record of an event, or a progress record.
  virtual void OnEventProduced(int event) = 0;
  virtual void OnProgressProduced(const Progress& record) = 0;
  // Whether progress is recorded, and the newest record in the topic.
  virtual bool records_progress() const = 0;
  virtual const std::optional<Progress>& recorded() const = 0;
  // The newest one whose commit is decided.
  virtual const std::optional<Progress>& decided() const = 0;
  // Likewise, of the other Kafka cluster.
  virtual const std::optional<Progress>& decided_elsewhere() const = 0;
  // How often the record was lost, or became that of the other cluster.
  virtual int record_losses() const = 0;
  // The relay has read the newest record in the topic.
  virtual void OnProgressRead() = 0;
  // A producer has claimed its transactional id, and has read this record.
  virtual void OnClaimed(const std::optional<Progress>& record) = 0;
  // Whether the producer of now has claimed it.
  virtual bool has_claimed() const = 0;
  // Whether records are published in transactions.
  virtual bool exactly_once() const = 0;
  // Whether the server that streams is in the state in which the stream found it.
  virtual bool same_server() const = 0;

  // Number of producers created so far, and the time of the last acknowledgement.
  virtual int producers() const = 0;
  // Whether the last one has not been destroyed.
  virtual bool has_producer() const = 0;
  virtual MonoTime last_report() const = 0;
  // Whether a second relay runs in this history.
  virtual bool has_rivals() const = 0;
  virtual int number() const = 0;
  // Whether the relay is configured to drop a slot that retains this much.
  virtual bool PastLimit(uint64_t retained_bytes) const = 0;

  // A position in a file that outlives the process. Only a mutant uses it.
  virtual Lsn stored_position() const = 0;
  virtual void StorePosition(Lsn position) = 0;
};

}  // namespace walrelay::sim

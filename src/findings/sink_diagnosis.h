// SinkDiagnosis: the checks of `walrelay doctor` that only the kind of a sink knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "findings/findings.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Each call adds its findings, also every error, and blocks. Not thread-safe.
class SinkDiagnosis {
 public:
  virtual ~SinkDiagnosis() = default;

  // Checks the brokers and the topics that events go to. Writes nothing. False: no broker responds.
  virtual bool CheckTopics(Depth depth) = 0;

  // --- REQUIRES: CheckTopics() has returned true

  // Checks the progress topic, and what a start would find in it. Neither creates the topic nor
  // writes to it. `source`: server and slot, as read before the call, because a running relay
  // confirms the slot only after it has written the record; nullopt: they are unknown. Returns the
  // record of this pipeline, if there is one. REQUIRES: pipeline.progress is not off.
  virtual std::optional<Progress> CheckProgress(const std::optional<SourceInfo>& source,
                                                Depth depth) = 0;
  // Compares how long the topics that were checked keep events with the age of the oldest one that
  // is not published; nullopt: none is known.
  virtual void CheckRetention(std::optional<Micros> oldest) = 0;
  // Checks what exactly-once delivery needs. `database`: "" if it is unknown. REQUIRES:
  // pipeline.mode = "exactly_once".
  virtual void CheckTransactions(std::string_view database, Depth depth) = 0;

  // --- at any time

  // Writes one record to `topic`, which remains there. An invalid name writes nothing.
  virtual void CheckWriting(const std::string& topic) = 0;
  // Whether the client library has a known defect, or lacks what the configuration needs.
  virtual void CheckLibrary() = 0;
};

}  // namespace walrelay

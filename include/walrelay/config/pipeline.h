// [pipeline]: what a pipeline promises, and the limits of what is in flight.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "walrelay/clock.h"

namespace walrelay {

// Whether progress is recorded in Kafka. kAuto: as the mode needs it; with PipelineMode::kSlot, if
// the user may use the progress topic, otherwise with one warning. kRequired: nothing is published
// without a record (WR-4016, WR-4018). kOff: with PipelineMode::kSlot only.
enum class ProgressRecording : uint8_t { kOff, kAuto, kRequired };

// Decides what a pipeline promises, and where it continues after a start or with a new producer.
// kSlot: at least once; at the confirmed position, and what was published behind it is published
// again. kTopics: at least once; behind the last event in each partition. kExactlyOnce: events are
// published in Kafka transactions, together with the record of progress; a consumer that reads
// committed records only sees each event once.
enum class PipelineMode : uint8_t { kSlot, kTopics, kExactlyOnce };

// Limits of what is in flight, and when progress is confirmed.
// At a limit of the window, Postgres is not read and status updates continue. One record may always
// be in flight, however large. confirm_interval is at most ten seconds, linger at most 100 ms.
struct PipelineConfig {
  // Unique in the Kafka cluster; the same for the instances of a pipeline. Valid: 1 to 128 letters,
  // digits, ".", "_" and "-". "": "<database>.<slot>".
  std::string id;
  PipelineMode mode = PipelineMode::kSlot;
  ProgressRecording progress = ProgressRecording::kAuto;
  // With kExactlyOnce: a database transaction of up to this many rows is committed to Kafka as a
  // whole, if max_in_flight_records and max_in_flight_bytes allow it.
  int64_t atomic_rows = 10'000;
  int64_t max_in_flight_records = 10'000;
  int64_t max_in_flight_bytes = int64_t{16} << 20;
  // While rows arrive fast, records are produced at this interval. Not with kExactlyOnce.
  Micros linger = std::chrono::milliseconds(5);
  Micros confirm_interval = std::chrono::milliseconds(100);
  Micros drain_timeout = std::chrono::seconds(25);

  bool exactly_once() const { return mode == PipelineMode::kExactlyOnce; }
  bool resumes_from_topics() const { return mode == PipelineMode::kTopics; }
  bool records_progress() const { return progress != ProgressRecording::kOff; }
  // Nothing is published without a record. Otherwise the record may be denied to the user.
  bool requires_record() const {
    return progress == ProgressRecording::kRequired || mode != PipelineMode::kSlot;
  }

  bool operator==(const PipelineConfig&) const = default;
};

}  // namespace walrelay

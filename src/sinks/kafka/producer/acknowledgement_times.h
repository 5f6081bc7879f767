// AcknowledgementTimes: when the brokers acknowledged the latest records.
//
// The owner of a producer may take its reports later than they arrive. librdkafka does not tell
// when a record was acknowledged, but calls an interceptor at that time.
//
// A table of fixed size: a time may be overwritten by that of another record before it is read.
//
// Threads: librdkafka's broker threads add, the producer's thread reads; without a lock.
// Source: rdkafka.h, rd_kafka_interceptor_f_on_acknowledgement_t.
#pragma once

#include <librdkafka/rdkafka.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

class AcknowledgementTimes {
 public:
  AcknowledgementTimes() = default;
  AcknowledgementTimes(const AcknowledgementTimes&) = delete;
  AcknowledgementTimes& operator=(const AcknowledgementTimes&) = delete;

  // Records the acknowledgements of the producer that is created with `conf`, which this object
  // must outlive. REQUIRES: the opaque pointer of each record is its token.
  void Attach(rd_kafka_conf_t* conf);

  // The record with this token was acknowledged.
  void Add(DeliveryToken token, MonoTime now);
  // nullopt: not known any more. While another thread overwrites the entry, the result may be the
  // time of that later acknowledgement.
  std::optional<MonoTime> Find(DeliveryToken token) const;

 private:
  // More than arrive within the time that reports may wait.
  static constexpr size_t kEntries = 1024;

  struct Entry {
    std::atomic<uint64_t> token{0};
    std::atomic<MonoTime::rep> time{0};  // 0: none yet
  };

  static size_t IndexOf(DeliveryToken token);

  std::array<Entry, kEntries> entries_;
};

}  // namespace walrelay

// RequestWatch: sees the requests of a transactional producer, through librdkafka's interceptors.
//
// It learns what librdkafka does not report: how often EndTxn was sent for a commit, whether the
// coordinator has answered a claim, and whether the partitions of a transaction had to be
// registered again, because the markers of the previous transaction were not written yet.
//
// Threads: librdkafka's broker threads call it; its results may be read on any thread.
// Source: rdkafka.h, rd_kafka_interceptor_f_on_request_sent_t; Kafka protocol, API keys.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>

#include "walrelay/clock.h"

namespace walrelay {

class RequestWatch {
 public:
  RequestWatch() = default;
  RequestWatch(const RequestWatch&) = delete;
  RequestWatch& operator=(const RequestWatch&) = delete;

  // Watches the client that is created with `conf`, which this object must outlive.
  void Attach(rd_kafka_conf_t* conf);

  // A request was written completely.
  void OnSent(int16_t api_key, Micros now);
  // A response was received completely.
  void OnAnswered(int16_t api_key, Micros now);

  // Since the start.
  uint64_t commits_sent() const { return commits_sent_.load(); }
  uint64_t claims_answered() const { return claims_answered_.load(); }
  // AddPartitionsToTxn was sent again, although librdkafka sent no record meanwhile: the first one
  // was answered with CONCURRENT_TRANSACTIONS.
  uint64_t repeated_registrations() const { return repeated_registrations_.load(); }
  // From the answer to EndTxn to the next AddPartitionsToTxn; 0 until it was sent.
  Micros registration_delay() const { return Micros(registration_delay_.load()); }

 private:
  std::atomic<uint64_t> commits_sent_{0};
  std::atomic<uint64_t> claims_answered_{0};
  std::atomic<uint64_t> repeated_registrations_{0};
  std::atomic<int64_t> commit_answered_at_{0};
  std::atomic<int64_t> registration_delay_{0};
  // When AddPartitionsToTxn was sent; 0 after another request of the transaction.
  std::atomic<int64_t> registering_since_{0};
};

}  // namespace walrelay

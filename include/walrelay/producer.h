// Producer: the seam to Kafka.
//
// One producer lives for one epoch: from its creation to the first permanent error. It is never
// repaired. When Health() is not OK, or a delivery failed, its owner destroys it, which forgets
// everything undelivered, and starts again from the last acknowledged position with a new one
// ("stop the line"). That is the only way in which order survives an error: a record that failed
// alone and is sent again stands behind its successors.
//
// Threads: all calls from one thread. poll_fd() becomes readable when Poll() has something to do.
//
// Guarantee asked of an implementation: per topic and partition, records are delivered in the order
// of Produce() without a gap; each accepted record is reported exactly once, or never when the
// producer is destroyed first.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/record.h"

namespace walrelay {

// Names a record in its delivery report: the transaction's number, which AckTracker gives (modulo
// 2^32), and the row's ordinal within the transaction. Ordinals from kUnnamedOrdinal on are one:
// such a record is counted, but cannot be named.
struct DeliveryToken {
  static constexpr uint32_t kUnnamedOrdinal = UINT32_MAX;

  uint32_t transaction = 0;
  uint32_t ordinal = 0;

  friend auto operator<=>(const DeliveryToken&, const DeliveryToken&) = default;
};

// A record that the brokers have: all in-sync replicas acknowledged it (acks=all).
struct Delivery {
  DeliveryToken token;
  size_t bytes = 0;   // window_bytes() of the record
  Micros latency{0};  // from Produce() to the acknowledgement

  // What follows is filled, and lives, only for the duration of the call.
  std::string_view topic;
  int32_t partition = -1;
  int64_t offset = -1;
  std::optional<std::string_view> key;
  std::span<const Header> headers;  // only where the producer was asked for details
};

// A record that will not be delivered by this producer. Brokers refuse batches: the records of one
// batch fail with the same error, whichever of them caused it.
struct DeliveryFailure {
  DeliveryToken token;
  size_t bytes = 0;  // window_bytes() of the record
  absl::Status error;
  bool purged = false;  // given up unsent, because the producer failed with another record
};

class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  virtual void OnDelivered(const Delivery& delivery) = 0;
  virtual void OnFailed(const DeliveryFailure& failure) = 0;
};

enum class Produced {
  kAccepted,      // copied; a report will come
  kTopicPending,  // the topic's metadata is being fetched: offer the record again after a Poll()
  kQueueFull,     // offer it again when reports have come in
};

class Producer {
 public:
  virtual ~Producer() = default;

  // Offers one record; never blocks. An error concerns this record alone (it is too large, the
  // topic does not exist or is denied) when Health() is still OK, and otherwise the whole producer.
  virtual absl::StatusOr<Produced> Produce(const Record& record, DeliveryToken token) = 0;

  // Hands every report that has arrived to `sink`; never blocks.
  virtual void Poll(DeliverySink& sink) = 0;

  // Not OK once the producer can never again deliver anything. It mostly says no more than that:
  // the cause comes with the report of a record.
  virtual absl::Status Health() const = 0;

  // Gives up what is not delivered: each such record is reported as failed and purged, whether or
  // not a broker has it. For a producer that is not OK: some of its reports would never come.
  virtual void GiveUp() {}

  // The last passing complaint (no broker reached, login refused), OK when a delivery came after
  // it. For people: nothing is decided by it, for librdkafka mends such things itself.
  virtual absl::Status Trouble() const = 0;

  // Whether a broker can be reached, as far as is known: false from the moment in which all of them
  // were down until one has answered.
  virtual bool Reachable() const { return true; }

  // A certificate that this producer was created with has changed on disk: its owner should replace
  // it when nothing is in flight. (A password is taken over without that.)
  virtual bool Outdated() const { return false; }

  // Readable when Poll() has something to do. -1 where nothing is to be waited for (simulation).
  virtual int poll_fd() const = 0;
};

// Makes the producer of the next epoch, which sends no batch of more than `max_batch_bytes` (except
// for a record that is larger by itself). Does not wait for a broker; an error is one of
// configuration.
using ProducerFactory =
    std::function<absl::StatusOr<std::unique_ptr<Producer>>(int64_t max_batch_bytes)>;

}  // namespace walrelay

// Sink: the seam to the broker that records are published to.
//
// One sink lives for one epoch: from its creation to the first permanent error. It is never
// repaired. If FatalError() is not OK, or a delivery failed, its owner destroys it, which drops all
// undelivered records, and restarts from the last acknowledged position with a new sink. Only
// this preserves order after an error: if a single failed record were sent again, it would come
// after its successors.
//
// Threads: all calls from one thread, also those of the optional interfaces. poll_fd() becomes
// readable when Poll() has something to do.
//
// An implementation must guarantee: per topic and partition, it delivers records in the order of
// Produce() without a gap; it reports each accepted record exactly once, or never if it is
// destroyed first.
//
// Three abilities are optional: transactions, records that carry their position, and an examination
// when nothing moves. Each has an interface, which a sink without the ability does not return.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/record.h"
#include "walrelay/record_position.h"
#include "walrelay/wait.h"

namespace walrelay {

// Identifies a record in its delivery report: the transaction's number, assigned by AckTracker
// (modulo 2^32), and the number of the record among those of the transaction. All numbers from
// kUnnamedOrdinal on share that value: such a record is counted, but cannot be identified.
struct DeliveryToken {
  static constexpr uint32_t kUnnamedOrdinal = UINT32_MAX;

  // The token of a progress record. Row records are numbered from 1.
  static constexpr DeliveryToken Progress() { return {}; }
  constexpr bool is_progress() const { return ordinal == 0; }

  uint32_t transaction = 0;
  uint32_t ordinal = 0;

  friend auto operator<=>(const DeliveryToken&, const DeliveryToken&) = default;
};

// A delivered record: the brokers have stored it safely (Kafka: acks=all).
struct Delivery {
  DeliveryToken token;
  size_t bytes = 0;   // window_bytes() of the record
  Micros latency{0};  // from Produce() to the acknowledgement
  // From the acknowledgement to this report, as far as known: the owner may call Poll() late.
  Micros report_delay{0};

  // The following members are valid only during the call.
  std::string_view topic;
  int32_t partition = -1;
  int64_t offset = -1;
  std::optional<std::string_view> key;
  std::span<const Header> headers;  // only if the sink was created to report details
};

// A record that this sink will not deliver. Brokers reject whole batches: all records of a
// batch fail with the same error, whichever of them caused it.
struct DeliveryFailure {
  DeliveryToken token;
  size_t bytes = 0;  // window_bytes() of the record
  absl::Status error;
  bool purged = false;  // dropped unsent, because the sink failed with another record
};

// Receives a sink's reports, inside Poll().
class DeliveryListener {
 public:
  virtual ~DeliveryListener() = default;
  // A record was acknowledged; called once for each.
  virtual void OnDelivered(const Delivery& delivery) = 0;
  // A record failed; called once for each. Never both.
  virtual void OnFailed(const DeliveryFailure& failure) = 0;
};

// The present state of a sink. Only for display and for its owner's decision to replace it: a
// sink recovers from transient errors itself.
struct SinkHealth {
  // The last transient error (no broker reachable, login rejected); OK after a later delivery.
  absl::Status trouble;
  // Whether a broker is reachable, as far as known: false from the time when all brokers were down
  // until one responds.
  bool reachable = true;
  // Whether a certificate that the sink was created with has changed on disk: its owner should
  // replace the sink when nothing is in flight. (A changed password needs no new sink.)
  bool outdated = false;
};

// The transactions of a sink that was created with a transactional id.
//
// Such a sink first claims the id: the brokers abort what an earlier sink with this id left
// open, and reject whatever it sends from then on. Then it reads the progress topic. Until both are
// done, Produce() returns kQueue.
//
// Each record is part of a transaction, which begins with its first record. A record is reported as
// delivered when its transaction was committed. After any error the sink fails, and every
// record of the transaction is reported as failed, although the transaction may have been
// committed: only the progress topic shows that, to the next sink that claims the id.
class Transactions {
 public:
  struct Claim {
    std::optional<Progress> record;  // the progress record, as it was read behind the claim
  };

  virtual ~Transactions() = default;

  // The sink has claimed its id: no other sink with this id can write from now on. The
  // claim is returned once, after the Poll() that has found it.
  virtual std::optional<Claim> TakeClaim() = 0;

  // Ends the transaction: it is committed when all of its records are acknowledged. Until the
  // commit is reported, Produce() returns kQueue. Never blocks. REQUIRES: a record was accepted
  // since the last commit.
  virtual void Commit() = 0;
};

// Records that carry their position in the WAL, so that a restarted relay finds them in the topics.
class Positions {
 public:
  virtual ~Positions() = default;

  // Call it before the first Produce(). From then on records with a position get the header
  // "wr-pos", and those whose event the topics have already are not sent (Offered::stored()):
  // before the first record of a topic, the ends of its partitions are read (kTopic until then). A
  // sink that cannot read them sends every record. Produce() returns WR-2204 for an event whose
  // place in a topic is taken by one of another transaction. Only the first call counts.
  virtual void SkipStored(const WalHistory& history) = 0;
};

// The findings about a sink that makes no progress.
struct Examination {
  // OK: the leaders of the partitions that records wait for answer another client, and have enough
  // in-sync replicas. Otherwise what the brokers lack.
  absl::Status brokers;
  std::string state;  // of the sink's client, for the log: its brokers and partitions
};

// Finds out why a sink makes no progress.
class Examiner {
 public:
  virtual ~Examiner() = default;

  // When a broker last acknowledged a record, also one that is not reported before its transaction
  // is committed; nullopt: none was.
  virtual std::optional<MonoTime> acknowledged_at() const = 0;
  // After this time a request without an answer is sent again.
  virtual Micros request_timeout() const = 0;
  // Begins to find out, with another client and on another thread, whether the brokers could accept
  // the records that wait. Does nothing while an examination has not ended. Never blocks.
  virtual void Examine() = 0;
  // The result of Examine(), once it has arrived, and only once.
  virtual std::optional<Examination> TakeExamination() = 0;
};

class Sink {
 public:
  // Drops undelivered records.
  virtual ~Sink() = default;

  // Produces one record; never blocks. The record is copied if it is handled: then a report
  // follows, unless its event is stored. Otherwise the caller offers it again before any later
  // record of its partition, or order is lost: after a Poll() for kTopic, after reports for kQueue.
  // If FatalError() is still OK, an error concerns only this record (it is too large, the topic
  // does not exist or access is denied), otherwise the whole sink.
  virtual absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) = 0;

  // A record of this topic will follow soon: what the topic's first record would wait for begins
  // now. Only a hint; never blocks. False: as many topics as should be requested at a time are not
  // known yet; announce this one again when one of them is.
  virtual bool Announce(std::string_view /*topic*/) { return true; }

  // Passes every report that has arrived to `listener`; never blocks.
  // REQUIRES: `listener` does not call Produce() or Poll(). It may call FatalError().
  virtual void Poll(DeliveryListener& listener) = 0;

  // Not OK once the sink has failed permanently. The status usually does not contain the cause,
  // which comes with the report of a record.
  virtual absl::Status FatalError() const = 0;

  // Abandons undelivered records: reports each as failed and purged, whether or not a broker has
  // received it. For a failed sink, some of whose reports would never arrive.
  virtual void AbandonUndelivered() {}

  virtual SinkHealth health() const { return {}; }

  // The id of the cluster that answered last; "" while unknown. Allocates.
  virtual std::string ClusterId() const { return {}; }

  // Readable when Poll() has something to do. -1 if there is nothing to wait for (simulation).
  // Owned by the sink; the caller only polls it, and does not read it.
  virtual int poll_fd() const = 0;

  // --- optional abilities: nullptr if the sink lacks it. They live as long as the sink.

  virtual Transactions* transactions() { return nullptr; }
  virtual Positions* positions() { return nullptr; }
  virtual Examiner* examiner() { return nullptr; }
};

// The relay's requirements for a new sink.
struct SinkRequest {
  int64_t max_batch_bytes = 0;   // of a batch, except for a single larger record
  std::string transactional_id;  // "": without transactions
  ProgressAddress progress;      // read after the id was claimed
  // How long Transactions::Commit() may make no progress: neither an acknowledgement nor the end of
  // the commit. Then the sink fails. The owner has to give the next sink more time, as far
  // as brokers keep a transaction open: with the same limit, brokers that are slower would get the
  // same records again and again.
  Micros commit_limit{0};
};

// Creates the sink of the next epoch. Does not wait for a broker; an error is a configuration
// error.
using SinkMaker = std::function<absl::StatusOr<std::unique_ptr<Sink>>(const SinkRequest&)>;

}  // namespace walrelay

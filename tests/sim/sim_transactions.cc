#include "sim_transactions.h"

#include <fmt/format.h>

#include <utility>

#include "mutant.h"
#include "outbox.h"
#include "sim_producer.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Longer in reality.
constexpr Micros kCommitTimeout = seconds(4);
constexpr Micros kMarkerPause = milliseconds(20);  // librdkafka's, after CONCURRENT_TRANSACTIONS
constexpr Micros kRetryPause = milliseconds(100);
constexpr Micros kLookAgain = milliseconds(20);
constexpr Micros kLongestLate = seconds(25);
// How long a transaction may be open beyond a third of the timeout.
constexpr Micros kOpenSlack = seconds(2);
constexpr Micros kRefusedSlack = seconds(1);
constexpr Micros kLongestSilence = seconds(1);

}  // namespace

// Sends a request to the coordinator. `ends`: it is EndTxn.
void SimTransactions::Send(Request request, Done done, bool ends) {
  const uint64_t number = ++requests_;
  SimCoordinator& coordinator = kafka_.coordinator();
  const Micros there = context_.random.Between(kafka_.latency, kafka_.latency_most);
  const Micros back = context_.random.Between(kafka_.latency, kafka_.latency_most);
  const bool lost = context_.random.Chance(kafka_.lost_requests) || producer_.outdated();
  bool answer_lost = context_.random.Chance(kafka_.lost_answers);
  if (ends && coordinator.lose_answers > 0) {
    --coordinator.lose_answers;
    answer_lost = true;
    kafka_.Disturb(kafka_.request_timeout);
    context_.coverage.Count("the answer to an EndTxn is lost");
  }
  const auto answered = [number, done](SimProducer& producer, std::optional<TxnAnswer> answer) {
    SimTransactions& self = *producer.transactions();
    if (self.requests_ == number && self.phase_ != Phase::kFailed) {
      ++self.requests_;
      done(answer);
    }
  };
  const auto arrive = [&kafka = kafka_, weak = producer_.weak_from_this(),
                       request = std::move(request), answered, back, answer_lost] {
    if (kafka.down || kafka.coordinator().down) {
      return;
    }
    const TxnAnswer answer = request(kafka.coordinator());
    const auto producer = weak.lock();
    if (!answer_lost && producer) {
      producer->Later(back, [answered, answer](SimProducer& self) { answered(self, answer); });
    }
  };
  if (ends && coordinator.hold_ends > 0) {
    --coordinator.hold_ends;
    kafka_.Disturb(kafka_.request_timeout);
    coordinator.Hold(arrive);
  } else if (!lost) {
    context_.After(there, arrive);
  } else if (context_.random.Chance(50)) {
    context_.coverage.Count("a request of a transaction arrives late");
    context_.After(context_.random.Between(kafka_.request_timeout, kLongestLate), arrive);
  }
  producer_.Later(kafka_.request_timeout,
                  [answered](SimProducer& self) { answered(self, std::nullopt); });
}

// --- the claim

void SimTransactions::Claim() {
  kafka_.coordinator().Reach(TxnStep::kInit);
  auto claimed = std::make_shared<uint32_t>(0);
  Send(
      [id = id_, timeout = timeout_, claimed](SimCoordinator& coordinator) {
        const SimCoordinator::Claim claim = coordinator.InitProducer(id, timeout);
        *claimed = claim.epoch;
        return claim.answer;
      },
      [this, claimed](std::optional<TxnAnswer> answer) {
        if (answer != TxnAnswer::kOk) {
          ClaimAgain(answer ? context_.random.Between(kMarkerPause, milliseconds(500)) : Micros(0));
          return;
        }
        epoch_ = *claimed;
        context_.Note("[kafka] the id is claimed with epoch {}", epoch_);
        context_.coverage.Count("a transactional id is claimed");
        phase_ = Phase::kReading;
        kafka_.coordinator().Reach(TxnStep::kClaimed);
        ReadProgress(context_.now());
      },
      /*ends=*/false);
}

void SimTransactions::ClaimAgain(Micros delay) {
  producer_.Later(delay, [](SimProducer& self) { self.transactions()->Claim(); });
}

// Up to the high watermark: the reader waits until no record before it is part of an open
// transaction.
void SimTransactions::ReadProgress(MonoTime since) {
  producer_.Later(4 * kafka_.latency, [since](SimProducer& producer) {
    SimTransactions& self = *producer.transactions();
    SimKafka& kafka = self.kafka_;
    if (self.phase_ != Phase::kReading) {
      return;
    }
    if (kafka.topic(kProgressTopic).denied) {
      producer.FailTransaction(
          Error(ErrorCode::kProgressDenied, "walrelay.progress.p: topic authorization failed"));
      return;
    }
    if (kafka.down || kafka.leaderless == 0 || producer.outdated() || !kafka.ProgressIsStable()) {
      self.context_.coverage.Count("reading the record after a claim has to wait");
      producer.Later(kLookAgain,
                     [since](SimProducer& again) { again.transactions()->ReadProgress(since); });
      return;
    }
    self.claimed_ = Mutant(MutantId::kReadProgressBeforeFencing) ? self.early_ : kafka.progress();
    self.phase_ = Phase::kReady;
    producer.Signal();
  });
}

std::optional<std::optional<Progress>> SimTransactions::TakeClaimed() {
  return std::exchange(claimed_, std::nullopt);
}

// --- a transaction

void SimTransactions::OnAccepted() {
  if (!std::exchange(open_, true)) {
    kafka_.coordinator().Reach(TxnStep::kAccepted);
    ++number_;
    const Micros most = timeout_ / 3 + kOpenSlack;
    const MonoTime due = context_.now() + most;
    producer_.Later(most, [number = number_, due](SimProducer& self) {
      self.transactions()->CheckAge(number, due);
    });
  }
}

// The relay has to abort the transaction: it reads the events again later, and consumers must not
// wait until an operator has fixed the cause.
void SimTransactions::OnRecordRefused() {
  if (!open_) {
    return;
  }
  context_.coverage.Count("the record of a transaction is refused at once");
  const MonoTime due = context_.now() + kRefusedSlack;
  producer_.Later(kRefusedSlack, [number = number_, due](SimProducer& producer) {
    const SimTransactions& self = *producer.transactions();
    const bool slept = self.context_.now() > due;
    if (self.open_ && self.number_ == number && self.phase_ != Phase::kFailed && !slept) {
      self.context_.oracle.Fail("EO5 open transaction",
                                "its record was refused, and it stays open");
    }
  });
}

// A relay that runs must not leave a transaction open: nothing behind it is visible to consumers.
void SimTransactions::CheckAge(uint64_t number, MonoTime due) {
  if (!open_ || number_ != number || phase_ == Phase::kFailed) {
    return;
  }
  const Micros most = timeout_ / 3 + kOpenSlack;
  const MonoTime begun = due - most;
  const bool slept = context_.now() > due;
  // The relay has asked for the end; records of a large transaction are still on their way.
  const bool ends =
      phase_ == Phase::kCommitting && context_.now() - acknowledged_at_ < kLongestSilence;
  const bool excused = slept || ends || kafka_.disturbed_until > begun || producer_.outdated();
  if (excused || !kafka_.coordinator().IsOpen(id_, epoch_)) {
    // After a suspension, the next connection attempt may come before the reports.
    const Micros delay = most + (slept ? kConnectTimeout : Micros(0));
    const MonoTime again = context_.now() + delay;
    producer_.Later(delay, [number, again](SimProducer& self) {
      self.transactions()->CheckAge(number, again);
    });
    return;
  }
  context_.oracle.Fail("EO5 open transaction",
                       fmt::format("a transaction has been open for {:.3f} s",
                                   static_cast<double>(most.count()) / 1e6));
}

bool SimTransactions::MaySendTo(const TopicPartition& partition) {
  if (registered_.contains(partition) || Mutant(MutantId::kSendUnregistered)) {
    return true;
  }
  wanted_.insert(partition);
  RegisterNext();
  return false;
}

void SimTransactions::RegisterNext() {
  if (registering_ || wanted_.empty() || phase_ == Phase::kFailed) {
    return;
  }
  registering_ = true;
  kafka_.coordinator().Reach(TxnStep::kAdd);
  const TopicPartition partition = *wanted_.begin();
  Send([id = id_, epoch = epoch_, partition](
           SimCoordinator& coordinator) { return coordinator.AddPartition(id, epoch, partition); },
       [this, partition](std::optional<TxnAnswer> answer) {
         registering_ = false;
         if (answer == TxnAnswer::kOk) {
           wanted_.erase(partition);
           registered_.insert(partition);
           producer_.SendTo(partition);
           RegisterNext();
         } else if (answer == TxnAnswer::kFenced || answer == TxnAnswer::kInvalidState) {
           producer_.FailTransaction(Error(ErrorCode::kProducerFenced, "producer fenced"));
         } else {
           producer_.Later(answer == TxnAnswer::kConcurrent ? kMarkerPause : kRetryPause,
                           [](SimProducer& self) { self.transactions()->RegisterNext(); });
         }
       },
       /*ends=*/false);
}

void SimTransactions::Stamp(Batch& batch) const {
  batch.transactional_id = id_;
  batch.epoch = epoch_;
}

void SimTransactions::Commit() {
  if (phase_ == Phase::kFailed) {
    return;
  }
  if (phase_ != Phase::kReady || !open_) {
    context_.oracle.Fail("EO3 progress", "a commit of no transaction");
    return;
  }
  phase_ = Phase::kCommitting;
  ends_sent_ = 0;
  OnAcknowledged();
  producer_.Signal();
}

void SimTransactions::OnAcknowledged() {
  acknowledged_at_ = context_.now();
  kafka_.coordinator().Reach(TxnStep::kAppended);
}

void SimTransactions::EndIfComplete() {
  if (phase_ == Phase::kCommitting &&
      (producer_.AllAcknowledged() || Mutant(MutantId::kCommitUnacknowledged))) {
    phase_ = Phase::kEnding;
    end_sent_at_ = context_.now();
    SendEnd();
  }
}

void SimTransactions::SendEnd() {
  if (phase_ != Phase::kEnding) {
    return;
  }
  ++ends_sent_;
  kafka_.coordinator().Reach(TxnStep::kEnd);
  Send([id = id_, epoch = epoch_](
           SimCoordinator& coordinator) { return coordinator.End(id, epoch, /*commit=*/true); },
       [this](std::optional<TxnAnswer> answer) { OnEnded(answer); }, /*ends=*/true);
}

void SimTransactions::OnEnded(std::optional<TxnAnswer> answer) {
  if (answer == TxnAnswer::kOk) {
    OnCommitted();
  } else if (answer == TxnAnswer::kFenced) {
    producer_.FailTransaction(Error(ErrorCode::kProducerFenced, "producer fenced"));
  } else if (answer == TxnAnswer::kInvalidState) {
    producer_.FailTransaction(Error(ErrorCode::kTransactionAborted, "invalid transaction state"));
  } else if (context_.now() - end_sent_at_ > kCommitTimeout) {
    context_.coverage.Count("a commit is in doubt");
    if (Mutant(MutantId::kTimeoutMeansCommitted)) {
      OnCommitted();
      return;
    }
    if (Mutant(MutantId::kReuseAfterAmbiguousCommit)) {
      Repeat();
      return;
    }
    producer_.FailTransaction(Error(ErrorCode::kCommitInDoubt, "the commit was not answered"));
  } else if (answer) {
    producer_.Later(kMarkerPause, [](SimProducer& self) { self.transactions()->SendEnd(); });
  } else {
    context_.coverage.Count("an EndTxn is sent again");
    SendEnd();
  }
}

// Used by a mutant.
void SimTransactions::Repeat() {
  registered_.clear();
  wanted_.clear();
  ends_sent_ = 0;
  phase_ = Phase::kCommitting;
  producer_.SendAgain();
}

// An EndTxn that was sent before may arrive during the next transaction of the same epoch: the
// producer is not used again.
void SimTransactions::OnCommitted() {
  kafka_.coordinator().Reach(TxnStep::kCommitted);
  open_ = false;
  registered_.clear();
  wanted_.clear();
  if (ends_sent_ > 1 && !Mutant(MutantId::kReuseTainted)) {
    context_.coverage.Count("a producer is not used after EndTxn was sent again");
    phase_ = Phase::kFailed;
    producer_.ReportCommitted(Error(ErrorCode::kCommitRepeated, "EndTxn was sent twice"));
    return;
  }
  phase_ = Phase::kPausing;
  producer_.ReportCommitted(absl::OkStatus());
  producer_.Later(context_.random.Between(Micros(0), milliseconds(5)), [](SimProducer& self) {
    SimTransactions& done = *self.transactions();
    if (done.phase_ == Phase::kPausing) {
      done.phase_ = Phase::kReady;
      self.Signal();
    }
  });
}

}  // namespace walrelay::sim

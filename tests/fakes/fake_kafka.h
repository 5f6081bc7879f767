// A fake Kafka as a sink sees it: records are accepted, and the test acknowledges them.
//
// `log` has all acknowledged records of all sinks, in the order of acknowledgement. A sink
// that is destroyed drops its records in flight, as librdkafka does when it is purged. Of a
// sink with transactions, `log` has the records that were committed.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "walrelay/error.h"
#include "walrelay/sink.h"

namespace walrelay::testing {

struct FakeRecord {
  std::string topic;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::map<std::string, std::string> headers;
  DeliveryToken token;
  size_t bytes = 0;
};

class FakeKafka {
 public:
  bool auto_acknowledge = false;
  Micros report_delay{0};  // of each acknowledgement
  size_t queue_limit = SIZE_MAX;
  std::set<std::string> pending_topics;            // their metadata has not arrived yet
  std::set<std::string> looked_up_topics;          // by each sink, at the first record
  std::map<std::string, absl::Status> bad_topics;  // Produce() returns this error
  std::set<std::string> stored_keys;               // their records are in the topics already
  // Records with these keys are rejected, by every sink. All records in flight after a rejected
  // one fail with it, as if they were in the same batch, and the sink fails fatally.
  std::map<std::string, absl::Status> refused_keys;
  absl::Status factory_error;
  // A sink fails one Poll() before it reports why, and drops records in flight only once they are
  // abandoned.
  bool reports_late = false;
  absl::Status health;  // of the current sink; a new one is healthy
  absl::Status trouble;
  bool reachable = true;
  std::string cluster_id;
  absl::Status brokers;  // as another client finds them, see Examiner::Examine()
  int examinations = 0;
  bool outdated = false;  // the current sink's certificates changed; a new one is up to date
  int producers = 0;      // created so far
  size_t offered = 0;     // calls of Produce()
  std::vector<std::string> announced;  // topics
  size_t most_announced = 1'000;
  SinkRequest request;  // for the last one
  // --- of transactions
  bool hold_claim = false;   // the transactional id is not claimed yet
  bool hold_commit = false;  // a commit is not answered yet
  // What becomes of a commit whose answer is lost; nullopt: answers arrive.
  std::optional<bool> lost_commit;
  std::function<std::optional<Progress>(const ProgressAddress&)> read_progress;
  int claims = 0;                                 // that succeeded
  std::vector<std::vector<std::string>> commits;  // the keys of each transaction's records
  std::vector<FakeRecord> in_flight;
  std::vector<FakeRecord> log;

  // The records of the open transaction, and whether it is being committed.
  const std::vector<FakeRecord>& uncommitted() const { return uncommitted_; }
  bool sealed() const { return sealed_; }

  // Acknowledges the record at `position` in flight, or all records in flight.
  void Acknowledge(size_t position) { acknowledged_.push_back(Take(position)); }
  void AcknowledgeAll() {
    while (!in_flight.empty()) {
      Acknowledge(0);
    }
  }
  // Rejects the record at `position` in flight permanently.
  void Refuse(size_t position, absl::Status error) {
    const FakeRecord record = Take(position);
    refused_.push_back({.token = record.token, .bytes = record.bytes, .error = std::move(error)});
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const FakeRecord& record : log) {
      keys.push_back(record.key.value_or("NULL"));
    }
    return keys;
  }

  SinkMaker Factory() {
    return [this](const SinkRequest& wanted) -> absl::StatusOr<std::unique_ptr<Sink>> {
      if (!factory_error.ok()) {
        return factory_error;
      }
      ++producers;
      request = wanted;
      health = absl::OkStatus();
      outdated = false;
      return std::make_unique<FakeSink>(*this);
    };
  }

 private:
  void RefuseByKey() {
    const auto bad = std::find_if(in_flight.begin(), in_flight.end(), [this](const auto& record) {
      return refused_keys.contains(record.key.value_or("NULL"));
    });
    if (bad == in_flight.end()) {
      return;
    }
    const absl::Status error = refused_keys.at(bad->key.value_or("NULL"));
    const std::string topic = bad->topic;
    if (bad != in_flight.begin()) {
      Acknowledge(0);
      return RefuseByKey();
    }
    while (!in_flight.empty()) {
      const bool same_batch = in_flight.front().topic == topic;
      Refuse(0, same_batch ? error : Error(ErrorCode::kProducerFailed, "purged"));
      refused_.back().purged = !same_batch;
    }
    health = Error(ErrorCode::kProducerFailed, "gapless guarantee");
  }

  class FakeSink final : public Sink, public Transactions, public Examiner {
   public:
    explicit FakeSink(FakeKafka& kafka)
        : kafka_(kafka), transactional_(!kafka.request.transactional_id.empty()) {}
    ~FakeSink() override {
      kafka_.uncommitted_.clear();
      kafka_.sealed_ = false;
      kafka_.in_flight.clear();
      kafka_.acknowledged_.clear();
      kafka_.refused_.clear();
    }

    absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override {
      const std::string topic(record.topic);
      ++kafka_.offered;
      if (!kafka_.health.ok()) {
        return kafka_.health;
      }
      if (const auto bad = kafka_.bad_topics.find(topic); bad != kafka_.bad_topics.end()) {
        return bad->second;
      }
      const bool unknown = kafka_.looked_up_topics.contains(topic) && topics_.insert(topic).second;
      if (unknown || kafka_.pending_topics.contains(topic)) {
        return Wait::kTopic;
      }
      if (record.key && kafka_.stored_keys.contains(std::string(*record.key))) {
        return Offered::Stored();
      }
      if (kafka_.in_flight.size() >= kafka_.queue_limit ||
          (transactional_ && (!claimed_ || kafka_.sealed_))) {
        return Wait::kQueue;
      }
      kafka_.in_flight.push_back(Copy(record, token));
      return Wait::kNone;
    }

    bool Announce(std::string_view topic) override {
      if (kafka_.announced.size() >= kafka_.most_announced) {
        return false;
      }
      kafka_.announced.emplace_back(topic);
      return true;
    }

    std::optional<Claim> TakeClaim() override { return std::exchange(claim_, std::nullopt); }
    void Commit() override {
      WR_CHECK(transactional_ && !kafka_.sealed_, "a transaction is open");
      WR_CHECK(!kafka_.in_flight.empty() || !kafka_.acknowledged_.empty() ||
                   !kafka_.uncommitted_.empty(),
               "a transaction that is committed has a record");
      kafka_.sealed_ = true;
    }

    void Poll(DeliveryListener& listener) override {
      if (transactional_ && !claimed_ && !kafka_.hold_claim && kafka_.health.ok()) {
        claimed_ = true;
        ++kafka_.claims;
        claim_ = Claim{kafka_.read_progress(kafka_.request.progress)};
      }
      const bool healthy = kafka_.health.ok();
      kafka_.RefuseByKey();
      if (kafka_.reports_late && healthy && !kafka_.health.ok()) {
        return;
      }
      if (kafka_.auto_acknowledge) {
        kafka_.AcknowledgeAll();
      }
      for (FakeRecord& record : std::exchange(kafka_.acknowledged_, {})) {
        if (transactional_) {
          kafka_.uncommitted_.push_back(std::move(record));
          continue;
        }
        listener.OnDelivered({.token = record.token,
                              .bytes = record.bytes,
                              .report_delay = kafka_.report_delay,
                              .topic = record.topic});
        kafka_.log.push_back(std::move(record));
      }
      if (kafka_.sealed_ && kafka_.in_flight.empty() && !kafka_.hold_commit &&
          kafka_.refused_.empty() && kafka_.health.ok()) {
        FinishCommit(listener);
      }
      const bool failed = !kafka_.refused_.empty() || !kafka_.health.ok();
      for (const DeliveryFailure& failure : std::exchange(kafka_.refused_, {})) {
        listener.OnFailed(failure);
      }
      if (failed && (!kafka_.reports_late || abandoned_)) {
        Purge(listener);
      }
    }

    absl::Status FatalError() const override { return kafka_.health; }
    void AbandonUndelivered() override {
      abandoned_ = true;
      for (DeliveryFailure& failure : kafka_.refused_) {
        failure.error = Error(ErrorCode::kProducerFailed, "purged");
        failure.purged = true;
      }
    }
    SinkHealth health() const override {
      return {
          .trouble = kafka_.trouble, .reachable = kafka_.reachable, .outdated = kafka_.outdated};
    }
    std::string ClusterId() const override { return kafka_.cluster_id; }
    Transactions* transactions() override { return transactional_ ? this : nullptr; }
    Examiner* examiner() override { return this; }
    std::optional<MonoTime> acknowledged_at() const override { return std::nullopt; }
    Micros request_timeout() const override { return std::chrono::seconds(30); }
    void Examine() override {
      ++kafka_.examinations;
      examined_ = true;
    }
    std::optional<Examination> TakeExamination() override {
      return std::exchange(examined_, false)
                 ? std::optional(Examination{.brokers = kafka_.brokers, .state = "broker 1 UP"})
                 : std::nullopt;
    }
    int poll_fd() const override { return -1; }

   private:
    void FinishCommit(DeliveryListener& listener) {
      const bool answered = !kafka_.lost_commit;
      if (answered || *kafka_.lost_commit) {
        kafka_.commits.emplace_back();
        for (const FakeRecord& record : kafka_.uncommitted_) {
          kafka_.commits.back().push_back(record.key.value_or("NULL"));
          kafka_.log.push_back(record);
        }
      }
      if (!answered) {
        kafka_.lost_commit.reset();
        kafka_.health = Error(ErrorCode::kCommitInDoubt, "no answer");
        return;  // Purge() reports the records
      }
      kafka_.sealed_ = false;
      for (const FakeRecord& record : std::exchange(kafka_.uncommitted_, {})) {
        listener.OnDelivered({.token = record.token, .bytes = record.bytes, .topic = record.topic});
      }
    }
    // A failed sink drops its records in flight.
    void Purge(DeliveryListener& listener) {
      for (const FakeRecord& record : std::exchange(kafka_.uncommitted_, {})) {
        listener.OnFailed({.token = record.token,
                           .bytes = record.bytes,
                           .error = Error(ErrorCode::kTransactionAborted, "aborted"),
                           .purged = true});
      }
      for (const FakeRecord& record : std::exchange(kafka_.in_flight, {})) {
        listener.OnFailed({.token = record.token,
                           .bytes = record.bytes,
                           .error = Error(ErrorCode::kProducerFailed, "purged"),
                           .purged = true});
      }
    }
    static FakeRecord Copy(const Record& record, DeliveryToken token) {
      FakeRecord copy{.topic = std::string(record.topic), .token = token};
      copy.key = record.key ? std::optional(std::string(*record.key)) : std::nullopt;
      copy.value = record.value ? std::optional(std::string(*record.value)) : std::nullopt;
      for (const Header& header : record.headers) {
        copy.headers[std::string(header.name)] = header.value.value_or("NULL");
      }
      copy.bytes = record.window_bytes();
      return copy;
    }

    std::set<std::string> topics_;  // that were looked up
    FakeKafka& kafka_;
    const bool transactional_;
    bool claimed_ = false;
    std::optional<Claim> claim_;  // until it is taken
    bool examined_ = false;
    bool abandoned_ = false;
  };

  FakeRecord Take(size_t position) {
    FakeRecord record = in_flight.at(position);
    in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(position));
    return record;
  }

  std::vector<FakeRecord> acknowledged_;
  std::vector<FakeRecord> uncommitted_;  // acknowledged, of the open transaction
  bool sealed_ = false;
  std::vector<DeliveryFailure> refused_;
};

}  // namespace walrelay::testing

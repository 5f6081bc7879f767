// Runs the real relay over several sessions between a fake Postgres and a fake Kafka controlled by
// the input, on a fake clock. A naive model, which stores everything and recomputes everything,
// checks each step: nothing is confirmed before it is acknowledged, every record belongs to a row,
// and keys stay in order. After all faults have been removed, every event must be in Kafka.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/check.h"
#include "fakes/relay_between_fakes.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMaxSteps = 200;

// All committed events, and which of them Kafka has.
class NaiveModel {
 public:
  size_t NewEvent(std::string key) {
    events_.push_back({.key = std::move(key)});
    return events_.size() - 1;
  }
  // The events since the last commit were one transaction.
  void OnCommit(Lsn end) { ends_.emplace_back(end, events_.size()); }

  void Judge(const testing::FakeKafka& kafka, Lsn confirmed) {
    for (; seen_ < kafka.log.size(); ++seen_) {
      OnAcknowledged(kafka.log[seen_]);
    }
    WR_CHECK(confirmed >= confirmed_, "a confirmed position does not go back");
    confirmed_ = confirmed;
    size_t first = 0;
    for (const auto& [end, events] : ends_) {
      if (confirmed >= end) {
        WR_CHECK(AllPresent(first, events), "confirmed means acknowledged");
      }
      first = events;
    }
  }

  bool Complete() const { return AllPresent(0, events_.size()); }

 private:
  struct Event {
    std::string key;
    bool present = false;
  };

  void OnAcknowledged(const testing::FakeRecord& record) {
    const size_t number = std::stoul(record.value.value());
    WR_CHECK(number < events_.size(), "every record belongs to a row");
    WR_CHECK(events_[number].key == record.key, "a record has its row's key");
    for (size_t earlier = 0; earlier < number; ++earlier) {
      WR_CHECK(events_[earlier].present || events_[earlier].key != record.key,
               "a key's events appear in the order of their commits");
    }
    events_[number].present = true;
  }
  bool AllPresent(size_t first, size_t end) const {
    return std::all_of(events_.begin() + static_cast<std::ptrdiff_t>(first),
                       events_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Event& event) { return event.present; });
  }

  std::vector<Event> events_;
  std::vector<std::pair<Lsn, size_t>> ends_;  // end LSN of each transaction, and its end in events_
  size_t seen_ = 0;                           // records of Kafka's log that were checked
  Lsn confirmed_;
};

class History : private testing::RelayBetweenFakes {
 public:
  explicit History(FuzzedDataProvider& input) : RelayBetweenFakes(&SharedMetrics()), input_(input) {
    StartRelay();
  }

  void Live() {
    for (size_t step = 0; step < kMaxSteps && input_.remaining_bytes() > 0; ++step) {
      Step();
      Turn();
    }
    Heal();
    for (int i = 0; i < 600 && !(model_.Complete() && Confirmed()); ++i) {
      postgres_.Keepalive(postgres_.info.server.wal_end, false);  // as from an idle server
      Pass(seconds(1));
    }
    WR_CHECK(model_.Complete(), "every event is in Kafka");
    WR_CHECK(Confirmed(), "every event is confirmed");
  }

 private:
  void Step() {
    switch (input_.ConsumeIntegralInRange(0, 16)) {
      case 0:
      case 1:
      case 2:
        return Commit();
      case 3:
        postgres_.OtherTraffic();
        return;
      case 4:
        return postgres_.Keepalive(postgres_.info.server.wal_end, input_.ConsumeBool());
      case 5:
      case 6:
        return Acknowledge();
      case 7:
        return kafka_.AcknowledgeAll();
      case 8:
        return Pass(milliseconds(input_.ConsumeIntegralInRange(1, 1000)));
      case 9:
        return Pass(seconds(input_.ConsumeIntegralInRange(1, 60)));
      case 10:
        return postgres_.CutAfter(input_.ConsumeIntegralInRange<size_t>(0, 20));
      case 11:
        return postgres_.SendRaw("S unsolicited");
      case 16:
        return postgres_.SendRaw(testing::StreamAbortMessage(5, 6));
      case 12:
        return Refuse();
      case 13:
        return HarmKafka();
      case 14:
        postgres_.info.slot->active = !postgres_.info.slot->active;
        return postgres_.BreakConnection();
      default:
        return StartRelay();  // the old one is killed
    }
  }

  std::string PickKey() { return std::string(1, input_.PickValueInArray({'a', 'b', 'c'})); }

  void Commit() {
    std::vector<testing::FakeRow> rows;
    for (int left = input_.ConsumeIntegralInRange(0, 4); left > 0; --left) {
      const std::string key = PickKey();
      const bool outbox = input_.ConsumeIntegralInRange(0, 7) > 0;
      const size_t number = outbox ? model_.NewEvent(key) : 0;
      rows.push_back({.type = input_.ConsumeBool() ? "order" : "bill",
                      .key = key,
                      .payload = std::to_string(number),
                      .outbox = outbox});
    }
    model_.OnCommit(postgres_.Commit(std::move(rows)));
  }

  // Acknowledges the first record with the key of a random record, because a partition keeps order.
  void Acknowledge() {
    if (kafka_.in_flight.empty()) {
      return;
    }
    const auto& picked =
        kafka_.in_flight[input_.ConsumeIntegralInRange<size_t>(0, kafka_.in_flight.size() - 1)];
    const auto first =
        std::find_if(kafka_.in_flight.begin(), kafka_.in_flight.end(),
                     [&](const testing::FakeRecord& each) { return each.key == picked.key; });
    kafka_.Acknowledge(static_cast<size_t>(first - kafka_.in_flight.begin()));
  }

  // librdkafka guarantees no gaps: after a rejected record no later one is delivered.
  void Refuse() {
    if (!kafka_.in_flight.empty()) {
      kafka_.Refuse(0, Error(ErrorCode::kProducerFailed, "refused"));
      kafka_.health = Error(ErrorCode::kProducerFailed, "fatal");
    }
  }

  void HarmKafka() {
    switch (input_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        kafka_.queue_limit = input_.ConsumeIntegralInRange<size_t>(0, 3);
        return;
      case 1:
        kafka_.queue_limit = SIZE_MAX;
        return;
      case 2:
        kafka_.pending_topics.insert("outbox.event.order");
        return;
      case 3:
        kafka_.pending_topics.clear();
        return;
      default:
        kafka_.health = Error(ErrorCode::kProducerFailed, "fatal");
    }
  }

  void Heal() {
    kafka_.queue_limit = SIZE_MAX;
    kafka_.pending_topics.clear();
    kafka_.auto_acknowledge = true;
    postgres_.info.slot->active = false;
  }

  void StartRelay() {
    relay_.reset();
    postgres_.Close();
    MakeRelay();
  }

  void Turn() {
    relay_->Turn();
    model_.Judge(kafka_, postgres_.confirmed());
    if (relay_->finished()) {
      StartRelay();  // as a supervisor would
    }
  }

  // Advances by the steps that the relay requests, or longer ones as on a busy machine.
  void Pass(Micros time) {
    const Micros shortest = time / 20;
    const MonoTime end = clock_.Now() + time;
    while (clock_.Now() < end) {
      const Wakeup wakeup = relay_->Turn();
      model_.Judge(kafka_, postgres_.confirmed());
      if (relay_->finished()) {
        StartRelay();
      }
      const Micros step = std::max(wakeup.at - clock_.Now(), shortest);
      clock_.Advance(std::min(step, end - clock_.Now()));
    }
  }

  bool Confirmed() const { return postgres_.confirmed() >= postgres_.info.server.wal_end; }

  static testing::SoleMetrics& SharedMetrics() {
    static testing::SoleMetrics metrics;  // expensive to create
    return metrics;
  }

  FuzzedDataProvider& input_;
  NaiveModel model_;
};

}  // namespace
}  // namespace walrelay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  walrelay::History(input).Live();
  return 0;
}

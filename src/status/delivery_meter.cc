#include "status/delivery_meter.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

// One point of the status page's chart.
constexpr Micros kPointInterval = std::chrono::seconds(10);

}  // namespace

// The wall clock may be behind the server's: a negative latency counts as 0.
void DeliveryMeter::OnDelivered(const Delivery& delivery, WallTime commit_time, WallTime now) {
  const WallTime acknowledged = now - delivery.report_delay;
  const Micros latency = std::max(acknowledged - commit_time, Micros(0));
  last_acknowledged_ = acknowledged;
  ++acknowledged_;
  latencies_.Add(latency);
  metrics_.commit_to_ack_seconds.Observe(latency);
  stages_.kafka.Add(delivery.latency);
  // Successive deliveries usually have the same topic.
  if (last_topic_counter_ == nullptr || last_topic_ != delivery.topic) {
    last_topic_ = delivery.topic;
    last_topic_counter_ = &TopicCounter(delivery.topic);
  }
  last_topic_counter_->Increment();
}

// The number of series is limited: further topics share one.
prometheus::Counter& DeliveryMeter::TopicCounter(std::string_view topic) {
  auto& by_topic = metrics_.events_published;
  const bool room = by_topic.size() < max_topics_;
  return by_topic[room || by_topic.contains(topic) ? topic : "__other__"];
}

// A median needs all three stages; a point without one of them has none.
std::optional<HistoryPoint> DeliveryMeter::TakePoint(MonoTime now, WallTime wall) {
  const MonoTime since = last_point_.value_or(now);
  last_point_ = since;
  WR_CHECK(now >= since, "time does not move backwards");
  if (now - since < kPointInterval) {
    return std::nullopt;
  }
  const auto postgres = stages_.postgres.TakeMedian();
  const auto relay = stages_.relay.TakeMedian();
  const auto kafka = stages_.kafka.TakeMedian();
  const bool all = postgres && relay && kafka;
  HistoryPoint point{
      .at = wall,
      .span = now - since,
      .events = latencies_.count(),
      .median = latencies_.Quantile(0.5),
      .slowest = latencies_.Quantile(0.99),
      .stages = all ? std::optional(StageMedians{*postgres, *relay, *kafka}) : std::nullopt,
      .lag_bytes = std::nullopt};
  latencies_.Clear();
  last_point_ = now;
  return point;
}

}  // namespace walrelay

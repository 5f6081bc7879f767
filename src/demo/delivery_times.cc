#include "demo/delivery_times.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

DeliveryTimes::Figures FiguresOf(std::vector<Micros> values) {
  if (values.empty()) {
    return {};
  }
  std::sort(values.begin(), values.end());
  // The index is below the size for every percentage below 100.
  const auto percentile = [&](size_t percent) { return values[values.size() * percent / 100]; };
  return {.events = values.size(),
          .median = percentile(50),
          .p99 = percentile(99),
          .max = values.back()};
}

}  // namespace

void DeliveryTimes::OutageBegan(WallTime at) {
  WR_CHECK(!outage_began_, "one outage");
  outage_began_ = at;
}

void DeliveryTimes::Add(WallTime committed, Micros latency) {
  // The first acknowledgement after the SIGKILL ends the outage. Events that were committed before
  // that moment had to wait for it.
  const WallTime acknowledged = committed + latency;
  if (outage_began_ && !outage_ended_ && acknowledged >= *outage_began_) {
    outage_ended_ = acknowledged;
  }
  const bool delayed =
      outage_ended_ && acknowledged >= *outage_began_ && committed < *outage_ended_;
  (delayed ? delayed_ : undisturbed_).push_back(latency);
}

DeliveryTimes::Figures DeliveryTimes::Undisturbed() const {
  return FiguresOf(undisturbed_);
}

DeliveryTimes::Figures DeliveryTimes::Delayed() const {
  return FiguresOf(delayed_);
}

std::optional<Micros> DeliveryTimes::Outage() const {
  return outage_ended_ ? std::optional(*outage_ended_ - *outage_began_) : std::nullopt;
}

}  // namespace walrelay

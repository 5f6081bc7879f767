// SlotWatch: what one sample of the slot alone does not show: ages, rates, the forecast, the
// silence of the stream and the risk.
//
// Pure; not thread-safe.
#pragma once

#include "slot/lsn_age_estimator.h"
#include "slot/slot_forecast.h"
#include "slot/slot_risk_classifier.h"
#include "slot/slot_sample.h"
#include "slot/stream_watch.h"
#include "walrelay/clock.h"

namespace walrelay {

class SlotWatch {
 public:
  // Adds a sample of the slot, and sets its members that depend on earlier samples. REQUIRES: `now`
  // is not before the last sample's; all samples are of the same slot.
  void Add(MonoTime now, SlotSample& sample, const OwnStream& stream);

 private:
  LsnAgeEstimator lsn_age_;
  SlotForecast forecast_;
  SlotRiskClassifier risk_;
  StreamWatch stream_;
};

}  // namespace walrelay

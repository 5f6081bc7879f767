#include "stream/record_cadence.h"

#include <algorithm>

namespace walrelay {

void RecordCadence::OnRecorded(MonoTime now) {
  due_ = now + event_interval_;
  position_due_ = now + std::max(event_interval_, kPositionInterval);
}

bool RecordCadence::Due(MonoTime now, const Unrecorded& what) const {
  const bool soon = what.events || what.horizon || what.requested || what.bytes >= kPositionBytes;
  return what.at_once || (now >= due_ && (soon || now >= position_due_));
}

MonoTime RecordCadence::NextDue(MonoTime now) const {
  return due_ > now ? due_ : position_due_ > now ? position_due_ : MonoTime::max();
}

}  // namespace walrelay

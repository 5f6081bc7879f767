#include "slot/slot_watch.h"

namespace walrelay {

// A slot that does not exist has no figures, but it may have had a stream and a risk before.
void SlotWatch::Add(MonoTime now, SlotSample& sample, const OwnStream& stream) {
  if (sample.exists) {
    lsn_age_.AddSample(now, sample.wal_end);
    forecast_.AddSample(now,
                        {sample.wal_end, sample.row.confirmed_flush_lsn, sample.row.restart_lsn});
    sample.lag_age = lsn_age_.Age(now, sample.row.confirmed_flush_lsn);
    sample.wal_bytes_per_second = forecast_.WalBytesPerSecond();
    sample.confirmed_bytes_per_second = forecast_.ConfirmedBytesPerSecond();
    sample.time_until_caught_up = forecast_.TimeUntilCaughtUp();
    if (const auto reserve = sample.reserve_bytes()) {
      sample.time_to_loss = forecast_.TimeToLoss(*reserve);
    }
  }
  sample.silence = stream_.Add(now, sample, stream);
  sample.risk = risk_.Classify(sample);
}

}  // namespace walrelay

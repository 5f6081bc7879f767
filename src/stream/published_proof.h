// PublishedProof: what a running relay has published, for other threads of its process.
//
// The relay's thread sets it on the StatusBoard several times a second. It is newer than the
// progress record in Kafka, and says the same: PublishedXidsOf(proof.progress, server) is the range
// of xids whose rows are published on that server.
#pragma once

#include "walrelay/clock.h"
#include "walrelay/progress.h"

namespace walrelay {

struct PublishedProof {
  // As a record would say it now. Its frontier is acknowledged by Kafka, with exactly-once delivery
  // committed; the slot may be confirmed less far. `last`, `partial`, `sequence` and `written` are
  // not set.
  Progress progress;
  // Whether the stream that the proof comes from still runs, has contained the last published
  // transactions, and has passed a horizon that was read since it started. If not, the server may
  // have been restored or promoted since the older horizons: they are good enough for a figure, but
  // not for deleting rows.
  bool current = true;
  // The walsender that sends the stream, and the start of its server. While a server that started
  // at this time has this process read the slot, it is the one that the proof is about: one that
  // was restored was started later, and one that was promoted has another process there, or none.
  int backend_pid = 0;
  WallTime server_started;
  MonoTime as_of;  // when the stream was last known to run
};

}  // namespace walrelay

// StreamWatch: whether the server's process sends what the slot's reader has not received yet.
//
// A stream that sends nothing may be up to date, or wait. It is up to date while no WAL is flushed
// beyond the position that the reader has received: a server that has nothing to send reports its
// position by a keepalive. Otherwise the server's process either works, because it decodes WAL of
// other tables or a large transaction, or waits for something that pg_stat_activity names: the
// standbys of synchronized_standby_slots, a lock, or nothing that explains it. Or it has ended, and
// a broken network has kept that from the reader. One sample proves nothing, because a healthy
// process waits for moments: only a wait at each sample during which the reader receives nothing
// counts.
//
// Pure; not thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "slot/slot_sample.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// "decoding", "standby", "unexplained": the label of a metric.
std::string_view NameOf(SilenceCause cause);

// The error of a stream whose silence delays events: WR-2112 for a standby that has been awaited
// for ten seconds, WR-2113 for a wait of twenty that nothing explains; also for one of twenty in
// all whose causes alternate. OK otherwise, and while Postgres works.
absl::Status SilenceStatus(const SlotSample& sample);

// The stream to this process. `received`: how far it has been read; 0/0 without a stream.
struct OwnStream {
  int backend_pid = 0;
  Lsn received;
};

class StreamWatch {
 public:
  // Adds a sample of the slot. Returns the wait or the work that lasts at this sample; nullopt if
  // the stream is up to date, or has just moved. REQUIRES: `now` is not before the last sample's.
  std::optional<StreamSilence> Add(MonoTime now, const SlotSample& sample, const OwnStream& stream);

 private:
  // The samples since `since` are equal in these; in pid only unless a standby is awaited.
  struct Episode {
    MonoTime since;
    MonoTime idle_since;  // as `since`, but of any cause except kDecoding
    int pid = 0;
    Lsn received;
    SilenceCause cause = SilenceCause::kDecoding;
  };
  std::optional<Episode> episode_;
};

}  // namespace walrelay

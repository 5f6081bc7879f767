// The setting synchronized_standby_slots (Postgres 17), and the slots that it names. Pure.
//
// A walsender of a failover slot sends nothing before the standby of each of these slots has
// confirmed the WAL. A name without a slot, a slot that is invalidated and one without a reader
// make it wait without end.
//
// Source: Postgres, src/backend/replication/slot.c, StandbySlotsHaveCaughtup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slot/slot_sample.h"
#include "walrelay/lsn.h"

namespace walrelay {

// A row of pg_replication_slots, as far as a walsender that waits reads it.
struct StandbySlot {
  std::string name;
  bool logical = false;
  bool active = false;
  bool invalidated = false;
  Lsn restart_lsn;
};

// The slots of the setting that a walsender waits for before it sends WAL up to `position`, in the
// setting's order. The setting is as pg_settings shows it, `slots` those of the server.
std::vector<AwaitedStandby> AwaitedStandbys(std::string_view setting,
                                            const std::vector<StandbySlot>& slots, Lsn position);

}  // namespace walrelay

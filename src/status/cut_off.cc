#include "status/cut_off.h"

#include <algorithm>

#include "slot/stream_watch.h"

namespace walrelay {
namespace {

// A count of all outbox tables that finds no unpublished row proves that none waits.
bool RowsMayWait(const std::vector<TableReading>& tables) {
  return tables.empty() || std::any_of(tables.begin(), tables.end(), [](const TableReading& table) {
           return !table.unpublished || table.unpublished->rows > 0;
         });
}

}  // namespace

// The sampler sees what the server's process does, and how far it could have sent. Its sample is
// outdated once anything was received: then the stream is not silent. The rows of a transaction
// that is not complete do not move the position: they end a silence as well, except a wait for a
// standby, which began behind them and may have begun on an earlier connection. While this process
// does not read, the server has to wait.
std::optional<Silence> SilenceOf(const RelayView& view) {
  const auto& slot = view.slot;
  const auto& stream = view.stream;
  if (!stream || !slot || !slot->silence || !view.sampler.IsCurrent(view.sampler.slot, view.wall) ||
      slot->silence->backend_pid != stream->backend_pid || stream->stalled_since ||
      slot->silence->received != view.received) {
    return std::nullopt;
  }
  const Micros age = std::max(view.wall - *view.sampler.slot, Micros(0));
  const Micros quiet = slot->silence->cause == SilenceCause::kStandby ? age : slot->silence->lasted;
  if (view.now - stream->last_handled < quiet) {
    return std::nullopt;
  }
  return Silence{.error = SilenceStatus(*slot),
                 .lasts = slot->silence->lasted + age,
                 .rows_may_wait = RowsMayWait(view.tables)};
}

// A server that decodes a large transaction of other tables delays events only if there are some.
std::optional<WallTime> SilentSince(const RelayView& view) {
  const auto silence = SilenceOf(view);
  return silence && (!silence->error.ok() ||
                     (silence->rows_may_wait && silence->lasts > kLongDecoding))
             ? std::optional(view.wall - silence->lasts)
             : std::nullopt;
}

// Since this process lost its connection, or since the slot became inactive or started to lag.
Micros TimeCutOff(const RelayView& view) {
  Micros time = view.now - view.disconnected_since;
  const auto& slot = view.slot;
  const auto& look = view.sampler.slot;
  if (slot && slot->exists && look && slot->lag_bytes() > 0) {
    time = std::max(time, slot->lag_age.value_or(Micros(0)) + (view.wall - *look));
    if (!slot->row.active && slot->row.inactive_since) {
      time = std::max(time, view.wall - *slot->row.inactive_since);
    }
  }
  return std::max(time, Micros(0));
}

}  // namespace walrelay

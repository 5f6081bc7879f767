// Views of a relay, for the tests of what shows them.
#pragma once

#include "status/relay_view.h"

namespace walrelay::testing {

// The times of the views.
inline const MonoTime kViewNow{std::chrono::hours(1)};
inline const WallTime kViewWall{std::chrono::hours(24 * 365 * 56)};

// A relay that has not connected yet.
inline RelayView FirstView() {
  return {.now = kViewNow,
          .wall = kViewWall,
          .retry_at = kViewNow,
          .disconnected_since = kViewNow,
          .last_delivery = kViewNow};
}

// A relay that streams from the server process 77, and is up to date.
inline RelayView StreamingView() {
  RelayView view = FirstView();
  view.phase = RelayView::Phase::kStreaming;
  view.has_streamed = true;
  view.received = view.frontier = Lsn(1000);
  view.kafka_reachable = true;
  view.stream = RelayView::Stream{.backend_pid = 77, .last_handled = kViewNow};
  return view;
}

// A relay that streams, and whose server process has sent nothing for `lasted` although WAL waits.
inline RelayView SilentView(SilenceCause cause, Micros lasted) {
  RelayView view = StreamingView();
  view.stream->last_handled = kViewNow - std::chrono::hours(1);
  SlotSample slot{.exists = true, .row = {.active = true}, .flushed = Lsn(2000)};
  slot.activity = ReaderActivity();
  slot.standbys = {{"east", "does not exist"}};
  slot.silence = StreamSilence{.cause = cause,
                               .lasted = lasted,
                               .backend_pid = 77,
                               .received = view.received,
                               .wait_event = "event"};
  view.slot = slot;
  view.sampler.slot = kViewWall;
  return view;
}

}  // namespace walrelay::testing

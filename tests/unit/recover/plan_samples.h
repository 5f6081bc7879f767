// What a recovery finds: a slot that was invalidated, and a record with two horizons.
#pragma once

#include "recover/recover_plan.h"
#include "stream/publication_change.h"
#include "walrelay/config.h"

namespace walrelay::testing {

inline constexpr std::chrono::hours kNoon{12};

inline XidHorizon HorizonAt(uint64_t xid, uint64_t lsn, Micros before_noon) {
  return {.xid = xid, .insert_lsn = Lsn(lsn), .taken = WallTime(kNoon - before_noon)};
}

inline Config SampleConfig() {
  Config config;
  config.source.slot = "walrelay";
  config.source.publication = "walrelay";
  return config;
}

inline RecoverEvidence SampleEvidence() {
  RecoverEvidence evidence;
  evidence.info.server = {
      .system_id = "7301", .timeline = 1, .wal_end = Lsn(5000), .database = "shop"};
  evidence.info.server.now = WallTime(kNoon + std::chrono::hours(1));
  evidence.info.slot = SlotInfo{.plugin = "pgoutput",
                                .database = "shop",
                                .confirmed_flush_lsn = Lsn(900),
                                .wal_status = "lost"};
  evidence.info.publication = {.exists = true, .publishes_insert = true};
  evidence.info.tables = {{.schema = "public", .name = "outbox", .oid = 1, .published = true}};
  evidence.next = {.xid = 2000, .taken = WallTime(kNoon + std::chrono::hours(1))};
  evidence.record = Progress{
      .pipeline = "shop.walrelay",
      .system_id = "7301",
      .timeline = 1,
      .database = "shop",
      .slot = "walrelay",
      .generation = 3,
      .frontier = Lsn(1000),
      .horizons = {HorizonAt(700, 800, std::chrono::minutes(1)), HorizonAt(800, 950, Micros(0))},
      .published_from = {.xid = 500, .taken = WallTime(Micros(0))},
      .publication = PublicationFingerprint(evidence.info.publication_state.identity),
      .run_id = "run",
      .sequence = 7};
  return evidence;
}

inline NewSlot SampleSlot() {
  return {.position = Lsn(6000),
          .snapshot = "00000003-1",
          .xmin = 1990,
          .xmax = 2000,
          .taken = WallTime(kNoon + std::chrono::hours(1)),
          .system_id = "7301",
          .timeline = 1};
}

}  // namespace walrelay::testing

#include "workload.h"

#include <memory>
#include <utility>

#include "outbox.h"
#include "walrelay/config.h"

namespace walrelay::sim {

// A transaction in progress.
struct Workload::Open {
  const PlannedTransaction& planned;
  Random random;
  LogTransaction log;
  int incarnation = 0;  // of the server on which it runs
  // Of its own, so that the other draws stay the same.
  Random records{planned.seed ^ 0x7265636F7264};
  Lsn record_end;  // of the last row
};

void Workload::Schedule() {
  for (const PlannedTransaction& planned : scenario_.transactions) {
    context_.event_queue.At(SimClock::kBegin + planned.begin, [this, &planned] { Begin(planned); });
  }
}

void Workload::CommitOne() {
  static const PlannedTransaction planned{.rows = 2, .seed = 1};
  Open open{planned,
            Random(planned.seed),
            {.xid = postgres_.Begin(), .begun = context_.clock.WallNow()},
            postgres_.incarnation()};
  WriteRows(open, planned.rows);
  End(open);
}

void Workload::CommitLike(const LogTransaction& other, bool same_xid) {
  static const PlannedTransaction planned{.rows = 1, .seed = 2};
  uint64_t xid = postgres_.Begin();
  while (same_xid ? xid < other.xid : xid == other.xid) {
    postgres_.RollBack(xid);
    xid = postgres_.Begin();
  }
  Open open{planned,
            Random(planned.seed),
            {.xid = xid, .begun = context_.clock.WallNow()},
            postgres_.incarnation()};
  WriteRows(open, planned.rows);
  postgres_.WriteUntil(other.commit_lsn);
  if (!same_xid) {
    open.log.time = other.time;
  }
  End(open);
}

void Workload::Begin(const PlannedTransaction& planned) {
  if (!postgres_.writable()) {
    return;
  }
  if (planned.others) {
    postgres_.Fill(1'000 + planned.seed % 100'000);
    return;
  }
  auto open =
      std::make_shared<Open>(Open{planned,
                                  Random(planned.seed),
                                  {.xid = postgres_.Begin(), .begun = context_.clock.WallNow()},
                                  postgres_.incarnation()});
  open->log.of_origin = planned.of_origin;
  open->log.skipped = planned.of_origin && scenario_.config.source.origin == OriginFilter::kNone;
  WriteRows(*open, planned.rows / 2);
  context_.After(planned.length, [this, open] {
    WriteRows(*open, open->planned.rows - open->planned.rows / 2);
    End(*open);
  });
}

void Workload::WriteRows(Open& open, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (open.planned.mixed && open.random.Chance(40)) {
      WriteOtherRow(open);
    } else {
      WriteRow(open);
    }
  }
}

void Workload::WriteRow(Open& open) {
  const bool message = scenario_.messages > 0 && open.random.Chance(scenario_.messages);
  const auto key = static_cast<uint32_t>(open.random.Below(static_cast<uint64_t>(scenario_.keys)));
  const bool hidden = !message && !postgres_.Publishes(key);
  const auto size = static_cast<uint32_t>(open.random.Between(20, 400));
  const int event = context_.oracle.NewEvent(key, DrawFlaw(open.random), size);
  if (open.planned.savepoint && open.random.Chance(30)) {
    postgres_.WriteRow(size);  // ROLLBACK TO SAVEPOINT
    context_.oracle.OnRollback(event);
    return;
  }
  // The row may be of the same WAL record as the one before, as with COPY.
  const LogRow* const last =
      open.record_end == postgres_.log().end() ? &open.log.rows.back() : nullptr;
  const bool joins = last != nullptr && !message && last->kind == LogRow::Kind::kInsert &&
                     last->schema == postgres_.schema() && last->hidden == hidden &&
                     open.records.Chance(30);
  if (joins) {
    context_.coverage.Count("a WAL record has several rows");
  }
  open.log.rows.push_back({.lsn = joins ? last->lsn : postgres_.WriteRow(100 + size),
                           .kind = message ? LogRow::Kind::kMessage : LogRow::Kind::kInsert,
                           .oid = kOutboxOid,
                           .event = event,
                           .schema = postgres_.schema(),
                           .hidden = hidden});
  open.record_end = postgres_.log().end();
  if (hidden) {
    context_.oracle.OnHidden(event, open.log.rows.back().lsn);
    return;
  }
  if (!message && open.random.Chance(5)) {
    LogRow removed = open.log.rows.back();  // deleted at once, to keep the table empty
    removed.kind = LogRow::Kind::kDelete;
    removed.lsn = postgres_.WriteRow(60);
    open.log.rows.push_back(removed);
  }
}

// Writes a row that is not an event: of another table, an UPDATE, or a TRUNCATE.
void Workload::WriteOtherRow(Open& open) {
  LogRow row{.lsn = postgres_.WriteRow(80), .oid = kOtherOid};
  const auto draw = open.random.Below(10);
  const bool after_an_event = !open.log.rows.empty() && open.log.rows.back().event >= 0 &&
                              !open.log.rows.back().hidden &&
                              open.log.rows.back().kind != LogRow::Kind::kMessage;
  if (draw < 2 && after_an_event) {
    row = open.log.rows.back();
    row.kind = LogRow::Kind::kUpdate;
  } else if (draw < 3) {
    row.oid = kOutboxOid;
    row.kind = LogRow::Kind::kTruncate;
  }
  open.log.rows.push_back(row);
}

Flaw Workload::DrawFlaw(Random& random) const {
  return random.Chance(scenario_.flaws) ? static_cast<Flaw>(random.Between(1, 4)) : Flaw::kNone;
}

void Workload::End(Open& open) {
  const bool lost = !postgres_.writable() || open.incarnation != postgres_.incarnation();
  if (!open.planned.rolled_back && !lost) {
    postgres_.Commit(std::move(open.log), open.planned.asynchronous);
    return;
  }
  if (open.incarnation == postgres_.incarnation()) {
    postgres_.RollBack(open.log.xid);
  }
  for (const LogRow& row : open.log.rows) {
    if (row.event >= 0) {
      context_.oracle.OnRollback(row.event);
    }
  }
}

}  // namespace walrelay::sim

#include "coverage.h"

#include <fmt/format.h>

namespace walrelay::sim {
namespace {

// 100,000 histories must reach all of these.
constexpr std::string_view kMustBeReached[] = {
// Every fault that can be drawn must take effect.
#define WALRELAY_FAULT(name, weight, what) "fault " #name,
#include "faults.def"
#undef WALRELAY_FAULT

    // The relay's states and transitions.
    "reports wait for the next row",
    "state blocked",
    "state catching_up",
    "state degraded",
    "state draining",
    "state standby",
    "state starting",
    "state stopped",
    "state streaming",
    "transition blocked -> catching_up",
    "transition blocked -> degraded",
    "transition blocked -> draining",
    "transition blocked -> standby",
    "transition blocked -> stopped",
    "transition blocked -> streaming",
    "transition catching_up -> blocked",
    "transition catching_up -> degraded",
    "transition catching_up -> draining",
    "transition catching_up -> standby",
    "transition catching_up -> stopped",
    "transition catching_up -> streaming",
    "transition degraded -> blocked",
    "transition degraded -> catching_up",
    "transition degraded -> draining",
    "transition degraded -> standby",
    "transition degraded -> stopped",
    "transition degraded -> streaming",
    "transition draining -> stopped",
    "transition standby -> blocked",
    "transition standby -> degraded",
    "transition standby -> stopped",
    "transition standby -> streaming",
    "transition starting -> stopped",
    "transition streaming -> blocked",
    "transition streaming -> catching_up",
    "transition streaming -> degraded",
    "transition streaming -> draining",
    "transition streaming -> standby",
    "transition streaming -> stopped",

    // Logged errors that are transient or that the relay waits out.
    "logged WR-1005",
    "logged WR-2001",
    "logged WR-2002",
    "logged WR-2004",
    "logged WR-2005",
    "logged WR-2006",
    "logged WR-2010",
    "logged WR-2011",
    "logged WR-2012",
    "logged WR-2014",
    "logged WR-2301",
    "logged WR-2303",
    "logged WR-2304",
    "logged WR-2401",
    "logged WR-2402",
    "logged WR-3003",
    "logged WR-3004",
    "logged WR-3005",
    "logged WR-3006",
    "logged WR-4001",
    "logged WR-4002",
    "logged WR-4003",
    "logged WR-4004",
    "logged WR-4005",
    "logged WR-4008",
    "logged WR-4009",
    "logged WR-4015",
    "logged WR-4016",
    "logged WR-4030",
    "logged WR-5003",
    "logged WR-5004",

    // Errors that only a surface shows.
    "shown WR-2112",
    "shown WR-2113",

    // Errors that end the process.
    "exit WR-2101",
    "exit WR-2103",
    "exit WR-2105",
    "exit WR-2106",
    "exit WR-2107",
    "exit WR-2109",
    "exit WR-2201",
    "exit WR-2202",
    "exit WR-2203",
    "exit WR-2204",
    "exit WR-2110",
    "exit WR-2301",
    "exit WR-2303",
    "exit WR-2304",
    "exit WR-2307",
    "exit WR-4035",
    "clean end",

    // Gaps that the relay holds at until the operator accepts them.
    "held WR-2103",
    "held WR-2105",
    "held WR-2106",
    "held WR-2107",
    "held WR-2109",
    "held WR-2110",
    "held WR-2201",
    "held WR-2202",
    "held WR-2203",
    "held WR-2204",
    "held WR-2307",
    "held WR-4035",

    // A change of the configuration.
    "a successor holds the gap of its predecessor",
    "clean replacement",
    "replaced before the first stream",
    "replaced in standby",
    "replaced while a gap is held",
    "replaced while a successor starts",
    "replaced while connecting",
    "replaced while disconnected",
    "replaced with records in flight",

    // Decisions that the relay logs.
    "log dead_letter",
    "log drain_timeout",
    "log dropping_slot",
    "log producer_restarted",
    "log gap",
    "log gap_accepted",
    "log outbox_truncated",
    "log row_skipped",
    "log skipping_published",
    "log slot_created",
    "log standby",
    "log taken_over",
    "log timeline_switched",
    "log visibility_known",
    "log visibility_unknown",
    "relay terminates its own stale connection",
    "status update interval",
    "status update ping",
    "status update progress",
    "status update requested",

    // With progress recorded.
    "a progress record is appended",
    "a stream starts on a rewritten WAL",
    "the slot is moved while a stream starts",
    "reading the progress record is denied",
    "the record of a transaction is refused at once",
    "the progress record is deleted",
    "the progress topic does not keep its records",

    // With mode = "topics".
    "a producer follows a change of partitions",
    "an end has no records any more",
    "an end does not count: too few replicas are in sync",
    "an end is longer than what is read of it",
    "an event is not sent again",
    "records that were not acknowledged are lost with their leader",
    "the ends of a topic are read",
    "the ends of a topic cannot be read",

    // With transactions.
    "a batch of a fenced producer arrives",
    "a claim aborts an open transaction",
    "a claim waits for abort markers",
    "a claim waits for commit markers",
    "a commit is in doubt",
    "a marker is delayed",
    "a part of a database transaction is committed",
    "a producer is not used after EndTxn was sent again",
    "a progress record is behind an open transaction",
    "a record is read behind a claim",
    "a request of a transaction arrives late",
    "a transaction begins before the markers of the last one",
    "a transaction exceeds its timeout",
    "a transaction with events is committed",
    "a transaction without events is committed",
    "a transactional id is claimed",
    "an EndTxn arrives again after the commit",
    "an EndTxn is held in the network",
    "an EndTxn of a fenced producer arrives",
    "broker rejects a batch that is not part of the transaction",
    "interrupted at step 0 of a transaction",
    "interrupted at step 1 of a transaction",
    "interrupted at step 2 of a transaction",
    "interrupted at step 3 of a transaction",
    "interrupted at step 4 of a transaction",
    "interrupted at step 5 of a transaction",
    "interrupted at step 6 of a transaction",
    "interrupted at step 7 of a transaction",
    "interrupted at step 8 of a transaction",
    "logged WR-4021",
    "logged WR-4022",
    "logged WR-4023",
    "reading the record after a claim has to wait",
    "the answer to an EndTxn is lost",
    "the record is not settled",
    "the settings change while a transaction is published in part",

    // Server behaviour that is rare.
    "a checkpoint waits for the walsender",
    "a snapshot request gets no answer",
    "broker drops a repeated batch",
    "a client that hangs is abandoned",
    "a producer fails with nothing in flight",
    "a producer has written to another cluster meanwhile",
    "another client finds leaders",
    "another client finds no leader",
    "broker rejects an out-of-order batch",
    "broker rejects a single-record batch",
    "broker rejects the time of a record",
    "producer looks up a topic",
    "producer queue is full",
    "producer retries",
    "server disconnects a silent client",
    "a WAL record has several rows",
    "a transaction is sent without the rows of a table",
    "server sends a corrupted message",
    "server sends a replication origin",
    "server sends an event as a message",
    "server skips the publication",
};

}  // namespace

void Coverage::Print() const {
  for (const auto& [name, count] : counts_) {
    fmt::print("  {:>12}  {}\n", count, name);
  }
}

std::vector<std::string> Coverage::Missing() const {
  std::vector<std::string> missing;
  for (const std::string_view name : kMustBeReached) {
    if (!counts_.contains(std::string(name))) {
      missing.emplace_back(name);
    }
  }
  // Reading the ends of topics must pay.
  const auto count = [this](std::string_view name) {
    const auto found = counts_.find(std::string(name));
    return found == counts_.end() ? 0 : found->second;
  };
  if (3 * count(kRepeatsTopics) * count(kHistoriesSlot) >=
      2 * count(kRepeatsSlot) * count(kHistoriesTopics)) {
    missing.emplace_back("fewer repetitions with mode = topics, by a third");
  }
  return missing;
}

}  // namespace walrelay::sim

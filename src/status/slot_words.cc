#include "status/slot_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string BytesPerSecond(double rate) {
  return HumanBytes(static_cast<uint64_t>(std::llround(rate))) + "/s";
}

// REQUIRES: the operator's limit is reached, or will be reached before the server's limit.
std::string BudgetWords(const SlotSample& slot) {
  WR_CHECK(slot.operator_limit_applies(), "there is a limit, and it is reached first");
  const std::string limit = fmt::format("source.max_retained_wal ({})",
                                        HumanBytes(static_cast<uint64_t>(slot.budget->bytes)));
  return slot.past_budget()
             ? fmt::format("{} is reached: {}", limit,
                           slot.budget->drop_slot
                               ? "the relay that reads the slot drops it."
                               : "nothing is dropped, but the slot uses more of the server's disk "
                                 "than you allowed.")
             : fmt::format(
                   "{} more WAL can be written before {} is reached {}",
                   HumanBytes(static_cast<uint64_t>(*slot.budget_left())), limit,
                   slot.budget->drop_slot ? "and the slot is dropped" : "(nothing is dropped)");
}

// The forecast if there is one; otherwise how long the reserve would last at the present rate.
std::string LimitWords(const SlotSample& slot) {
  const auto left = slot.reserve_bytes();
  if (!left) {
    return "There is no limit (max_slot_wal_keep_size is -1): while nothing is confirmed, the "
           "retained WAL can fill the server's disk.";
  }
  const auto reserve = static_cast<uint64_t>(std::max<int64_t>(*left, 0));
  if (slot.operator_limit_applies() && slot.past_budget()) {
    return BudgetWords(slot);
  }
  if (reserve == 0) {
    return "The limit is reached: the next checkpoint may remove WAL that the slot needs.";
  }
  const std::string text =
      slot.operator_limit_applies()
          ? BudgetWords(slot)
          : fmt::format("{} more WAL can be written before the slot is invalidated",
                        HumanBytes(reserve));
  if (slot.time_to_loss) {
    return fmt::format("{}: at {}, in about {}.", text,
                       BytesPerSecond(slot.wal_bytes_per_second.value_or(0)),
                       FormatDuration(*slot.time_to_loss));
  }
  if (slot.wal_bytes_per_second && *slot.wal_bytes_per_second >= 1) {
    const double seconds = static_cast<double>(reserve) / *slot.wal_bytes_per_second;
    // Limited to 1e9 s: more would overflow microseconds in 64 bits.
    const auto span =
        std::chrono::duration_cast<Micros>(std::chrono::duration<double>(std::min(seconds, 1e9)));
    return fmt::format("{}. If no further progress is confirmed, that lasts {} at {}.", text,
                       FormatDuration(span), BytesPerSecond(*slot.wal_bytes_per_second));
  }
  return text + ".";
}

// Why WAL is retained that was confirmed long ago: decoding must be able to restart before the
// oldest transaction that is still open.
std::string HolderWords(const SlotSample& slot) {
  const OldestTransaction& holder = *slot.held_by;
  std::string who = holder.pid != 0
                        ? fmt::format("server process {}", holder.pid)
                        : fmt::format("prepared transaction \"{}\"", holder.prepared_as);
  for (const auto& [name, value] :
       {std::pair("user", &holder.user), std::pair("application", &holder.application),
        std::pair("database", &holder.database)}) {
    if (!value->empty()) {
      who += fmt::format(", {} {}", name, *value);
    }
  }
  return fmt::format(
      "{} of it is confirmed but still retained, because a transaction {}: {}.",
      HumanBytes(slot.held_bytes()),
      holder.age ? fmt::format("has been open for {}", FormatDuration(*holder.age)) : "is open",
      who);
}

// Spilling is slow and uses disk, but loses nothing.
std::string SpillWords(const SpillCounters& spill) {
  return fmt::format(
      "Postgres has spilled {} {} ({}) to disk while decoding; a larger "
      "logical_decoding_work_mem avoids that.",
      Grouped(spill.spilled_transactions),
      spill.spilled_transactions == 1 ? "transaction" : "transactions",
      HumanBytes(spill.spilled_bytes));
}

}  // namespace

std::string LossWords(const SlotSample& slot) {
  if (!slot.row.invalidation_reason.empty()) {
    return fmt::format(
        "Postgres has invalidated the slot ({}): changes it had not sent are no longer in the WAL.",
        slot.row.invalidation_reason);
  }
  return "Postgres has invalidated the slot: changes it had not sent are no longer in the WAL.";
}

std::string LagAgeWords(const SlotSample& slot) {
  return slot.lag_age ? FormatDuration(*slot.lag_age) : "age unknown";
}

// From what is known about every slot to what concerns few: an invalidated slot has no limit and no
// forecast any more.
std::vector<std::string> SlotWords(const SlotSample& slot) {
  if (!slot.exists) {
    return {"Postgres has no slot of this name."};
  }
  if (slot.risk == SlotRisk::kLost) {
    return {LossWords(slot)};
  }
  std::vector<std::string> words = {
      fmt::format("Postgres retains {} of WAL for the slot.", HumanBytes(slot.retained_bytes())),
      LimitWords(slot)};
  if (const auto end = slot.idle_until()) {
    words.push_back(fmt::format(
        "No process reads it: idle_replication_slot_timeout ({}) lets Postgres invalidate "
        "it from {} on.",
        FormatDuration(*slot.idle_timeout), Rfc3339(*end)));
  }
  if (slot.held_by) {
    words.push_back(HolderWords(slot));
  }
  if (slot.spill && slot.spill->spilled_transactions > 0) {
    words.push_back(SpillWords(*slot.spill));
  }
  return words;
}

std::string SlotCopyWords(const SlotCopy& copy) {
  if (!copy.unreachable.ok()) {
    return fmt::format("Standby {} cannot be asked for its copy of the slot: {}.", copy.host,
                       MessageOf(copy.unreachable));
  }
  if (copy.survives()) {
    return fmt::format("Standby {} has a copy of the slot, confirmed up to {}.", copy.host,
                       copy.confirmed.ToString());
  }
  std::string problems;
  for (const SlotCopyProblem& problem : copy.problems) {
    problems += (problems.empty() ? "" : "; ") + problem.text;
  }
  return fmt::format(
      "After a failover to standby {}, events that are not published by then would be missing: {}.",
      copy.host, problems);
}

}  // namespace walrelay

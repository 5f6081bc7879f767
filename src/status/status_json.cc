// The status report as JSON, as specified by proto/walrelay/admin/v1/status.proto.
//
// Generated without protobuf: its JSON support needs the full runtime, which is three megabytes,
// and writes 64-bit numbers as strings. Tests parse the output with the generated type.

#include <fmt/format.h>

#include "base/text.h"
#include "slot/slot_alarm.h"
#include "status/status_report.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

double SecondsOf(Micros time) {
  return std::chrono::duration<double>(time).count();
}

// Builds a JSON object. Absent values are omitted.
class JsonObject {
 public:
  void Add(std::string_view name, std::string_view text) {
    Name(name);
    AppendJsonString(text, out_);
  }
  void Add(std::string_view name, const char* text) { Add(name, std::string_view(text)); }
  void Add(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  void Add(std::string_view name, WallTime time) { Add(name, Rfc3339(time)); }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Add(std::string_view name, Number value) { Raw(name, fmt::format("{}", value)); }
  template <typename Value>
  void Add(std::string_view name, const std::optional<Value>& value) {
    if (value) {
      Add(name, *value);
    }
  }
  void AddSeconds(std::string_view name, const std::optional<Micros>& time) {
    if (time) {
      Add(name, SecondsOf(*time));
    }
  }
  void AddText(std::string_view name, std::string_view text) {
    if (!text.empty()) {
      Add(name, text);
    }
  }
  // `json` must be valid JSON.
  void Raw(std::string_view name, std::string_view json) {
    Name(name);
    out_ += json;
  }
  std::string Take() && { return std::move(out_) + "}"; }

 private:
  void Name(std::string_view name) {
    out_ += out_.size() > 1 ? "," : "";
    AppendJsonString(name, out_);
    out_ += ':';
  }

  std::string out_ = "{";
};

template <typename Items, typename Function>
std::string List(const Items& items, Function&& to_json) {
  std::string out = "[";
  for (const auto& item : items) {
    out += out.size() > 1 ? "," : "";
    out += to_json(item);
  }
  return out + "]";
}

std::string RelayJson(const RelayStatus& relay) {
  JsonObject out;
  out.Add("state", NameOf(relay.state));
  out.Add("since", relay.since);
  out.AddText("waits_for", relay.waits_for);
  out.Add("events_acknowledged", relay.figures.acknowledged);
  out.Add("records_in_flight", relay.figures.records_in_flight);
  out.Add("bytes_in_flight", relay.figures.bytes_in_flight);
  out.Add("transactions_in_flight", relay.figures.transactions_in_flight);
  out.Add("oldest_unacknowledged", relay.figures.oldest_commit);
  out.Add("cut_off_since", relay.figures.cut_off_since);
  out.Add("last_acknowledged", relay.figures.last_acknowledged);
  out.Add("received_lsn", relay.figures.received.ToString());
  out.Add("flushed_lsn", relay.figures.frontier.ToString());
  return std::move(out).Take();
}

std::string HolderJson(const SlotSample& slot) {
  JsonObject out;
  if (slot.held_by->pid != 0) {
    out.Add("pid", slot.held_by->pid);
  }
  out.AddText("prepared_as", slot.held_by->prepared_as);
  out.AddText("user", slot.held_by->user);
  out.AddText("application", slot.held_by->application);
  out.AddText("database", slot.held_by->database);
  out.AddSeconds("age_seconds", slot.held_by->age);
  out.Add("held_bytes", slot.held_bytes());
  return std::move(out).Take();
}

std::string SlotJson(const SlotSample& slot) {
  JsonObject out;
  out.Add("exists", slot.exists);
  if (!slot.exists) {
    return std::move(out).Take();
  }
  out.Add("taken", slot.taken);
  out.Add("active", slot.active);
  if (slot.active) {
    out.Add("active_pid", slot.active_pid);
  }
  out.Add("wal_lsn", slot.wal_end.ToString());
  out.Add("confirmed_flush_lsn", slot.confirmed.ToString());
  out.Add("restart_lsn", slot.restart.ToString());
  out.Add("lag_bytes", slot.lag_bytes());
  out.Add("lag_seconds", SecondsOf(slot.lag_age));
  out.Add("retained_bytes", slot.retained_bytes());
  if (slot.max_retained_bytes >= 0) {
    out.Add("max_retained_bytes", slot.max_retained_bytes);
  }
  out.Add("safe_bytes", slot.safe_wal_bytes);
  if (slot.budget) {
    out.Add("budget_bytes", slot.budget->bytes);
    out.Add("budget_drops_slot", slot.budget->drop_slot);
  }
  out.AddText("wal_status", slot.wal_status);
  out.AddText("invalidation_reason", slot.invalidation_reason);
  out.Add("inactive_since", slot.inactive_since);
  out.Add("wal_bytes_per_second", slot.wal_bytes_per_second);
  out.AddSeconds("seconds_to_loss", slot.time_to_loss);
  out.AddSeconds("seconds_until_caught_up", slot.time_until_caught_up);
  out.Add("risk", NameOf(slot.risk));
  if (slot.held_by) {
    out.Raw("held_by", HolderJson(slot));
  }
  if (slot.spill) {
    out.Add("spilled_transactions", slot.spill->spilled_transactions);
    out.Add("spilled_bytes", slot.spill->spilled_bytes);
    out.Add("decoded_bytes", slot.spill->decoded_bytes);
  }
  return std::move(out).Take();
}

std::string GapJson(const RelayStatus& relay) {
  const Gap& gap = *relay.gap;
  JsonObject out;
  out.Add("id", gap.id);
  out.Add("code", ToString(CodeOf(gap.error)));
  if (gap.from.valid()) {
    out.Add("from_lsn", gap.from.ToString());
  }
  if (gap.to.valid()) {
    out.Add("to_lsn", gap.to.ToString());
  }
  out.Add("accepted", relay.gap_accepted);
  out.Add("looks", relay.gap_looks);
  return std::move(out).Take();
}

JsonObject ErrorJson(const absl::Status& error) {
  const ErrorEntry& entry = Describe(CodeOf(error));
  JsonObject out;
  out.Add("code", ToString(entry.code));
  out.Add("title", entry.title);
  out.Add("message", MessageOf(error));
  out.Add("meaning", entry.meaning);
  out.Add("remedy", RemedyFor(error));
  return out;
}

std::string ProblemJson(const Problem& problem) {
  JsonObject out = ErrorJson(problem.error);
  out.AddText("detail", problem.detail);
  return std::move(out).Take();
}

std::string PastJson(const PastError& past) {
  JsonObject out = ErrorJson(past.error);
  out.Add("first", past.first);
  out.Add("last", past.last);
  out.Add("times", past.times);
  return std::move(out).Take();
}

std::string PointJson(const HistoryPoint& point) {
  JsonObject out;
  out.Add("at", point.at);
  out.Add("seconds", SecondsOf(point.span));
  out.Add("events", point.events);
  out.AddSeconds("median_latency_seconds", point.median);
  out.AddSeconds("p99_latency_seconds", point.slowest);
  out.Add("lag_bytes", point.lag_bytes);
  if (point.stages) {
    out.Add("median_postgres_seconds", SecondsOf(point.stages->postgres));
    out.Add("median_relay_seconds", SecondsOf(point.stages->relay));
    out.Add("median_kafka_seconds", SecondsOf(point.stages->kafka));
  }
  return std::move(out).Take();
}

}  // namespace

std::string StatusJson(const StatusReport& report) {
  const StatusSnapshot& snapshot = report.snapshot;
  JsonObject out;
  out.Add("now", report.now);
  out.Add("version", report.identity.version);
  out.Add("slot_name", report.identity.slot);
  out.Add("publication", report.identity.publication);
  out.Add("ready", report.relay_answered && IsReady(snapshot));
  out.Add("summary", fmt::format("{}. {}", HeadlineOf(report), SummaryOf(report)));
  if (report.relay_answered) {
    out.Raw("relay", RelayJson(snapshot.relay));
  }
  if (snapshot.relay.gap) {
    out.Raw("gap", GapJson(snapshot.relay));
  }
  if (snapshot.slot) {
    out.Raw("slot", SlotJson(*snapshot.slot));
  }
  out.Add("slot_checked", snapshot.looks.slot);
  out.Add("publication_checked", snapshot.looks.publication);
  if (!snapshot.looks.failure.ok()) {
    out.Raw("check_failure", ProblemJson({snapshot.looks.failure, ""}));
  }
  out.Raw("problems", List(ProblemsOf(report), ProblemJson));
  out.Raw("past_problems", List(snapshot.errors, PastJson));
  out.Raw("history", List(snapshot.history, PointJson));
  return std::move(out).Take() + "\n";
}

}  // namespace walrelay

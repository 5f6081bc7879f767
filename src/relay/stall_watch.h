// StallWatch: whether records wait because of Kafka, or because of the client that sends them.
//
// One rule: nothing is acknowledged or refused although records wait, and the brokers could accept
// them. While the brokers cannot (no leader, too few in-sync replicas, no answer), time does not
// count: another client would not help, and would repeat what is in flight. A client that makes no
// progress although another one is answered is replaced.
//
// The brokers are asked after two request timeouts without progress: until then the client has
// repeated each request by itself. It is replaced when they could accept the records at each
// examination for as long again. So an outage that ends while the brokers are asked counts as one.
// Slow brokers and quotas delay acknowledgements, but do not stop them.
//
// Pure; single-threaded. docs/decisions/0043.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

class StallWatch {
 public:
  // The time before a replacement doubles so often while replacing does not help.
  static constexpr int kMostDoublings = 4;

  // Records wait since `waiting_since`: for their acknowledgement, or for their topic. Later than
  // before: there was progress. nullopt: none waits. `timeout`: see Examiner::request_timeout().
  // Returns whether to examine the sink now.
  bool ShouldExamine(MonoTime now, std::optional<MonoTime> waiting_since, Micros timeout);
  // An examination has ended. Returns whether to replace the sink now.
  bool OnExamined(MonoTime now, const absl::Status& brokers);
  // The sink was replaced for this reason; the frontier at that time.
  void OnReplaced(Lsn frontier);
  // The frontier moves when the oldest records are acknowledged: then replacing has helped.
  void OnFrontier(Lsn frontier);

  // The finding of the last examination while records wait: why the brokers accept none, or WR-4037
  // while they could. OK before, and after progress.
  const absl::Status& cause() const { return cause_; }
  // The brokers were found able to accept the records, since then.
  const std::optional<MonoTime>& able_since() const { return able_since_; }

 private:
  void Forget();
  Micros Patience() const { return 2 * timeout_; }

  std::optional<MonoTime> waiting_since_;
  Micros timeout_{0};
  MonoTime examine_at_;
  std::optional<MonoTime> able_since_;
  absl::Status cause_;
  int replacements_ = 0;  // in a row, up to kMostDoublings
  Lsn replaced_at_;       // the frontier at the last one
};

}  // namespace walrelay

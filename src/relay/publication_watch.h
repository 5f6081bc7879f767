// PublicationWatch: whether the publication has hidden rows since it was seen last.
//
// Only a reading without a problem is remembered: a problem is reported elsewhere, and is not a
// state to compare with. A change that was found stays until it is accepted, because a leaf that is
// logged again leaves no trace. Single-threaded; no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class PublicationWatch {
 public:
  // The memory of a process, for the one that follows it.
  struct Memory {
    std::string name;
    std::optional<PublicationState> state;
    MonoTime seen_at;
    absl::Status hiding;
  };

  // `name`, the publication's, must outlive it.
  explicit PublicationWatch(const std::string& name) : name_(name) {}

  // The state of a publication with another name is not restored.
  void Restore(const Memory& memory);
  Memory memory() const { return {name_, state_, seen_at_, hiding_}; }

  // Remembers a reading of the relay's own connection that was complete at `now`, unless it has a
  // problem.
  void Remember(const SourceInfo& info, MonoTime now);
  // Remembers the state that a progress record has.
  void Recall(const PublicationState& state) { state_ = state; }
  // Changes committed before this position were seen.
  void SeenBefore(Lsn position);
  // The result of a comparison of a reading with state(): WR-2110 is kept until Accept(). Returns
  // the error that was found now, or was kept. `compared`: false if the reading was not compared.
  absl::Status OnCompared(const absl::Status& found, bool compared);
  // An operator has accepted what was hidden: the next reading is the first.
  void Accept();

  // Another connection has read the publication; the read began at `begun`. True if it shows a
  // change that may hide rows, which is not conclusive: that connection may have reached another
  // server. A reading that shows no such change is remembered. `compare`: false while another
  // process is responsible for changes.
  bool Contradicts(const PublicationState& seen, MonoTime begun, bool compare);
  // Notes that the relay is about to check what the reading shows. False if it did so already.
  bool Dispute(const PublicationIdentity& identity);
  // The relay's own reading has shown a gap: the observation was right, or no longer matters.
  void EndDispute() { disputed_ = PublicationIdentity(); }

  // The last reading without a problem, by this process or by the writer of the record.
  const std::optional<PublicationState>& state() const { return state_; }
  // The same for the next record.
  std::optional<SeenPublication> seen() const;

 private:
  const std::string& name_;
  std::optional<PublicationState> state_;
  MonoTime seen_at_;              // when that reading was complete
  PublicationIdentity disputed_;  // seen by another connection, not yet by the relay's own
  // Not OK: rows were hidden since that reading, which no operator has accepted. Another gap may be
  // held first.
  absl::Status hiding_;
};

}  // namespace walrelay

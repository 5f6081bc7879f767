#include "relay/publication_watch.h"

#include <algorithm>

#include "stream/publication_change.h"
#include "stream/start_position.h"
#include "walrelay/error.h"

namespace walrelay {

void PublicationWatch::Restore(const Memory& memory) {
  if (memory.name == name_) {
    state_ = memory.state;
    seen_at_ = memory.seen_at;
  }
  hiding_ = memory.hiding;
}

void PublicationWatch::Remember(const SourceInfo& info, MonoTime now) {
  if (PublicationProblems(info, name_).empty()) {
    state_ = info.publication_state;
    seen_at_ = now;
  }
}

void PublicationWatch::SeenBefore(Lsn position) {
  if (state_) {
    state_->before = std::min(state_->before, position);
  }
}

absl::Status PublicationWatch::OnCompared(const absl::Status& found, bool compared) {
  if (HasCode(found, ErrorCode::kPublicationChanged)) {
    hiding_ = found;
  }
  return found.ok() && compared ? hiding_ : found;
}

void PublicationWatch::Accept() {
  state_.reset();
  hiding_ = absl::OkStatus();
}

// A reading that began before the relay's own may show the state before it. Positions of another
// reading are kept even if nothing changed: `before` moves forward, and with it the start of a
// later gap's range. Not while rows are hidden: the gap begins before them, whenever it is held.
bool PublicationWatch::Contradicts(const PublicationState& seen, MonoTime begun, bool compare) {
  if (!state_ || !hiding_.ok() || begun < seen_at_) {
    return false;
  }
  if (compare && !HidingChange(state_->identity, seen.identity).empty()) {
    return true;
  }
  if (seen.identity.oid != 0) {
    state_ = seen;
  }
  return false;
}

// Without this memory the relay would reconnect after each reading of a connection that reaches
// another server.
bool PublicationWatch::Dispute(const PublicationIdentity& identity) {
  if (identity == disputed_) {
    return false;
  }
  disputed_ = identity;
  return true;
}

std::optional<SeenPublication> PublicationWatch::seen() const {
  return state_ ? std::optional(SeenPublication{name_, *state_}) : std::nullopt;
}

}  // namespace walrelay

// Link: one TCP connection between a relay and the server.
//
// Keeps order in both directions, has latency, and buffers a limited number of bytes towards the
// client; a sender without room waits until the client has read. A link can stall for a while
// (nothing is lost), be cut (bytes that have not arrived are lost), or go dark (all bytes are lost,
// and each end still considers the other connected).
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "random.h"
#include "walrelay/clock.h"

namespace walrelay::sim {

class Link {
 public:
  Link(Micros latency, size_t room) : latency_(latency), room_(room) {}

  // --- towards the client ---
  bool HasRoom() const { return bytes_ < room_; }
  void Send(MonoTime now, std::string message) {
    if (dark_ || end_) {
      return;
    }
    bytes_ += message.size();
    to_client_at_ = ArrivalAfter(now, to_client_at_);
    arriving_.push_back({to_client_at_, std::move(message)});
  }
  // The server closes its end; the client sees `reason` after the bytes that were sent.
  void End(MonoTime now, absl::Status reason) {
    if (!dark_ && !end_) {
      to_client_at_ = ArrivalAfter(now, to_client_at_);
      end_ = {to_client_at_, std::move(reason)};
    }
  }
  // Bytes that have not arrived are lost. `piece`: part of a message does arrive.
  void Cut(MonoTime now, absl::Status reason, bool piece) {
    while (!arriving_.empty() && arriving_.back().first > now) {
      bytes_ -= arriving_.back().second.size();
      arriving_.pop_back();
    }
    piece_ = piece;
    end_ = {now, std::move(reason)};
    dark_ = false;
    cut_ = true;
  }
  // A message was corrupted: the client may disconnect.
  void NoteGarbled() { garbled_ = true; }
  void GoDark() { dark_ = true; }
  void StandStill(MonoTime until) { still_until_ = std::max(still_until_, until); }

  // --- at the client ---
  // Returns the next message that has arrived.
  std::optional<std::string> Take(MonoTime now) {
    if (arriving_.empty() || arriving_.front().first > now) {
      return std::nullopt;
    }
    std::string message = std::move(arriving_.front().second);
    arriving_.pop_front();
    bytes_ -= message.size();
    return message;
  }
  bool TakePiece() { return std::exchange(piece_, false); }
  // Why no more messages will arrive; OK while more may arrive.
  absl::Status Ended(MonoTime now) const {
    return end_ && arriving_.empty() && end_->first <= now ? end_->second : absl::OkStatus();
  }
  // When the next message or the end of the link becomes readable.
  std::optional<MonoTime> ReadableAt() const {
    if (!arriving_.empty()) {
      return arriving_.front().first;
    }
    return end_ ? std::optional(end_->first) : std::nullopt;
  }
  bool HasUnread() const { return !arriving_.empty(); }

  // --- towards the server ---
  // When bytes that are sent now arrive; nullopt: never.
  std::optional<MonoTime> ToServer(MonoTime now) {
    if (dark_ || cut_) {
      return std::nullopt;
    }
    return to_server_at_ = ArrivalAfter(now, to_server_at_);
  }

  // Whether a write fails because the other end is closed: the first write is answered with a
  // reset, which the second one reports.
  bool TellsClosed(MonoTime now) {
    return end_ && end_->first <= now && std::exchange(written_to_closed_, true);
  }

  bool ended() const { return end_.has_value(); }
  bool dark() const { return dark_; }
  bool cut() const { return cut_; }
  bool disturbed_since(MonoTime time) const {
    return dark_ || cut_ || garbled_ || still_until_ >= time;
  }

 private:
  MonoTime ArrivalAfter(MonoTime now, MonoTime previous) const {
    return std::max({now + latency_, still_until_, previous});
  }

  const Micros latency_;
  const size_t room_;
  std::deque<std::pair<MonoTime, std::string>> arriving_;
  size_t bytes_ = 0;
  MonoTime to_client_at_;
  MonoTime to_server_at_;
  MonoTime still_until_;
  std::optional<std::pair<MonoTime, absl::Status>> end_;
  bool piece_ = false;
  bool written_to_closed_ = false;
  bool dark_ = false;
  bool cut_ = false;
  bool garbled_ = false;
};

}  // namespace walrelay::sim

// Link: one TCP connection between a relay and the server.
//
// Keeps order in both directions, takes its time, and has room for so many bytes towards the
// client; a sender that finds no room waits until the client has read. It can stand still for a
// while (nothing is lost), be cut (what has not arrived is lost), or go dark: each end goes on
// thinking that the other is there.
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
  // The server's end was closed; the client sees `reason` behind what was sent.
  void End(MonoTime now, absl::Status reason) {
    if (!dark_ && !end_) {
      to_client_at_ = ArrivalAfter(now, to_client_at_);
      end_ = {to_client_at_, std::move(reason)};
    }
  }
  // What has not arrived is lost; perhaps a piece of a message comes through.
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
  // Something on it was not what was sent: the client may leave.
  void NoteGarbled() { garbled_ = true; }
  void GoDark() { dark_ = true; }
  void StandStill(MonoTime until) { still_until_ = std::max(still_until_, until); }

  // --- at the client ---
  // Takes the next message that has arrived.
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
  // Why there is nothing more to come; OK while there may be.
  absl::Status Ended(MonoTime now) const {
    return end_ && arriving_.empty() && end_->first <= now ? end_->second : absl::OkStatus();
  }
  // When there is something to take, or the end to see.
  std::optional<MonoTime> ReadableAt() const {
    if (!arriving_.empty()) {
      return arriving_.front().first;
    }
    return end_ ? std::optional(end_->first) : std::nullopt;
  }
  bool HasUnread() const { return !arriving_.empty(); }

  // --- towards the server ---
  // When what is sent now arrives; nullopt: never.
  std::optional<MonoTime> ToServer(MonoTime now) {
    if (dark_ || cut_) {
      return std::nullopt;
    }
    return to_server_at_ = ArrivalAfter(now, to_server_at_);
  }

  // The other end was closed: the first thing sent to it is answered with a reset, which the next
  // one finds.
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

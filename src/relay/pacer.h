// Pacer: one by one while live, in bursts while behind.
//
// A record that goes out alone costs a wake-up of the server, of this process and of librdkafka,
// and a request; that is the price of low latency, and right when there is one record. With a
// backlog the same work is done for hundreds at once, if they are let come together. The stream
// itself says which it is: each message carries the server's time of sending, each transaction that
// of its commit, and their difference is how far behind it is, on one clock.
//
// While the lag is small everything is read and handed over at once. Beyond that an event may wait
// a small fraction of the time that it has waited already: reading pauses for moments, so that the
// socket fills, and what was read is held back for a little longer, so that librdkafka is handed a
// burst. There is nothing to configure.
//
// Pure; not thread-safe.
#pragma once

#include <algorithm>

#include "walrelay/clock.h"

namespace walrelay {

class Pacer {
 public:
  // How much the server can send while nobody reads depends on how it is reached.
  explicit Pacer(bool by_network) : longest_pause_(by_network ? 400 : 200) {}

  // A message was handled that was sent this long after its transaction's commit.
  void OnLag(Micros lag) { lag_ = lag; }

  // There was nothing to read, and no message was handled for so long. A server that is behind and
  // shares its cores with others falls silent for moments; once it is silent for longer, whatever
  // comes next is fresh.
  void OnNothingToRead(Micros silence) { lag_ = silence > kLive ? Micros(0) : lag_; }

  bool behind() const { return lag_ > kLive; }

  // How long to wait before reading again. Longer than this and the server's send buffer would be
  // full before we come back.
  Micros pause() const { return behind() ? std::min(lag_ / 64, longest_pause_) : Micros(0); }

  // How long what was read may be held back for more.
  Micros hold() const { return behind() ? std::min(lag_ / 16, Micros(4'000)) : Micros(0); }

 private:
  // A commit is flushed, decoded and sent within this time on a server that is well.
  static constexpr Micros kLive{10'000};

  Micros longest_pause_;
  Micros lag_{0};
};

}  // namespace walrelay

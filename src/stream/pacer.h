// Pacer: one record at a time while live, in bursts while lagging.
//
// A record sent alone costs a wake-up of the server, of this process and of librdkafka, and a
// request. That is the price of low latency, and it is right when there is a single record. With a
// backlog, the same work covers hundreds of records if they are allowed to accumulate. The stream
// itself shows which case applies: each message carries the server's send time and each transaction
// its commit time; both come from one clock, and their difference is the lag.
//
// While the lag is small, everything is read and produced at once. Above that, an event may be
// delayed by a small fraction of the time it has already waited: reading pauses briefly so that the
// socket fills, and received messages are held a little longer so that librdkafka gets a burst.
// There is nothing to configure.
//
// Pure; not thread-safe.
#pragma once

#include <algorithm>

#include "walrelay/clock.h"

namespace walrelay {

class Pacer {
 public:
  // How much the server can send while nothing is read depends on the transport.
  explicit Pacer(bool by_network) : longest_pause_(by_network ? 400 : 200) {}

  // Records that a message was handled which the server sent this long after its transaction's
  // commit.
  void OnLag(Micros lag) { lag_ = lag; }

  // Records that nothing could be read, and that no message was handled for `silence`. A lagging
  // server that shares its cores with other processes pauses briefly; after a longer silence the
  // next message is fresh.
  void OnNothingToRead(Micros silence) { lag_ = silence > kLive ? Micros(0) : lag_; }

  bool behind() const { return lag_ > kLive; }

  // How long to wait before the next read. After a longer pause the server's send buffer would be
  // full.
  Micros pause() const { return behind() ? std::min(lag_ / 64, longest_pause_) : Micros(0); }

  // How long received messages may be held to collect more.
  Micros hold() const { return behind() ? std::min(lag_ / 16, Micros(4'000)) : Micros(0); }

 private:
  // A healthy server flushes, decodes and sends a commit within this time.
  static constexpr Micros kLive{10'000};

  Micros longest_pause_;
  Micros lag_{0};
};

}  // namespace walrelay

// Pacer: one record at a time while live, in waves while requests overlap, in bursts while lagging.
//
// A record sent alone costs a wake-up of the server, of this process and of librdkafka, and a
// request. That is the price of low latency, and it is right when there is a single record. With a
// backlog, the same work covers hundreds of records if they are allowed to accumulate. The stream
// itself shows which case applies: each message carries the server's send time and each transaction
// its commit time; both come from one clock, and their difference is the lag.
//
// While the lag is small, everything is read and produced at once, unless earlier records are not
// acknowledged yet: then new records wait for the acknowledgement, a few milliseconds at most, and
// are produced together as the next wave. So a wave is as large as the brokers are slow, and
// nothing waits while requests do not overlap. While rows arrive fast, the next wave also waits
// until the configured linger time has passed: the same rows need fewer requests, of which
// librdkafka sends one per partition.
//
// Above a small lag, an event may be delayed by a small fraction of the time it has already waited:
// reading pauses briefly so that the socket fills, and received messages are held a little longer
// so that librdkafka gets a burst.
//
// Pure; not thread-safe. Source: Kafka, the sink's linger.ms.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "walrelay/clock.h"

namespace walrelay {

class Pacer {
 public:
  // How long reports of delivery may wait for the turn of the next row. With fewer than a hundred
  // rows a second, each report has its own turn.
  static constexpr Micros kReportDelay{10'000};

  // How much the server can send while nothing is read depends on the transport. `linger`: see
  // pipeline.linger; 0: no wave waits longer than for the acknowledgement.
  Pacer(bool by_network, Micros linger) : longest_pause_(by_network ? 400 : 200), linger_(linger) {}

  // Records that a message was handled which the server sent this long after its transaction's
  // commit.
  void OnLag(Micros lag) { lag_ = lag; }

  // Records that nothing could be read, and that no message was handled for `silence`. A lagging
  // server that shares its cores with other processes pauses briefly; after a longer silence the
  // next message is fresh.
  void OnNothingToRead(Micros silence) { lag_ = silence > kLive ? Micros(0) : lag_; }

  // Records that this many records were produced at this time: a wave. A single record is not a
  // reason to linger, however soon it follows. REQUIRES: records > 0; time does not move backwards.
  void OnProduced(MonoTime now, size_t records) {
    WR_CHECK(records > 0, "a wave has records");
    WR_CHECK(now >= produced_at_, "waves follow one another");
    const bool fast = now - produced_at_ <= kFastRow * static_cast<int64_t>(records);
    linger_end_ = records > 1 && fast ? now + linger_ : now;
    produced_at_ = now;
  }

  bool behind() const { return lag_ > kLive; }

  // Whether the next records should wait: until linger_end(), and for the acknowledgement of the
  // last wave, at the longest until wave_end(). `unacknowledged`: whether a record is in flight.
  bool in_wave(MonoTime now, bool unacknowledged) const {
    return !behind() && (now < linger_end_ || (unacknowledged && now < wave_end()));
  }
  MonoTime linger_end() const { return linger_end_; }
  MonoTime wave_end() const { return produced_at_ + kLongestWave; }

  // From then on, reports wake the relay. They are few when rows are few.
  MonoTime reports_due() const { return produced_at_ + kReportDelay; }

  // How long to wait before the next read. After a longer pause the server's send buffer would be
  // full.
  Micros pause() const { return behind() ? std::min(lag_ / 64, longest_pause_) : Micros(0); }

  // How long received messages may be held to collect more.
  Micros hold() const { return behind() ? std::min(lag_ / 16, Micros(4'000)) : Micros(0); }

 private:
  // A healthy server flushes, decodes and sends a commit within this time.
  static constexpr Micros kLive{10'000};
  // Bounds what a slow broker adds to the latency of the next event.
  static constexpr Micros kLongestWave{2'000};
  // The time per row of a fast stream: 2,500 rows a second. Below that, requests cost less than the
  // wait is worth.
  static constexpr Micros kFastRow{400};

  Micros longest_pause_;
  Micros linger_;
  Micros lag_{0};
  MonoTime produced_at_;
  MonoTime linger_end_;
};

}  // namespace walrelay

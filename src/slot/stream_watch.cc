#include "slot/stream_watch.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A healthy stream waits for a standby for a round trip at each commit.
constexpr Micros kStandby = std::chrono::seconds(10);
// The background writer flushes the end of a record that is written in part within 15 seconds.
constexpr Micros kUnexplained = std::chrono::seconds(20);

// A process without an event is computing. While it waits for a disk or a lock in memory, or until
// the reader accepts data, it works, too.
bool Works(const ReaderActivity& activity) {
  return activity.wait_type.empty() || activity.wait_type == "IO" ||
         activity.wait_type == "LWLock" || activity.wait_type == "Timeout" ||
         activity.wait_event == "WalSenderWriteData" || activity.wait_event == "ClientWrite";
}

// Whether the server process of the stream reads the slot.
bool IsReader(const SlotSample& sample, const OwnStream& stream) {
  return sample.exists && sample.activity && sample.row.active_pid == stream.backend_pid;
}

SilenceCause CauseOf(const SlotSample& sample, const OwnStream& stream) {
  if (!IsReader(sample, stream)) {
    return SilenceCause::kUnexplained;
  }
  const ReaderActivity& activity = *sample.activity;
  return activity.wait_event == "WaitForStandbyConfirmation" ? SilenceCause::kStandby
         : Works(activity)                                   ? SilenceCause::kDecoding
                                                             : SilenceCause::kUnexplained;
}

}  // namespace

std::string_view NameOf(SilenceCause cause) {
  switch (cause) {
    case SilenceCause::kDecoding:
      return "decoding";
    case SilenceCause::kStandby:
      return "standby";
    case SilenceCause::kUnexplained:
      return "unexplained";
  }
  return "?";
}

absl::Status SilenceStatus(const SlotSample& sample) {
  if (!sample.silence || sample.silence->cause == SilenceCause::kDecoding) {
    return absl::OkStatus();
  }
  const StreamSilence& silence = *sample.silence;
  const bool standby = silence.cause == SilenceCause::kStandby;
  if (silence.idle < kUnexplained && !(standby && silence.lasted >= kStandby)) {
    return absl::OkStatus();
  }
  if (!standby && silence.wait_event.empty()) {
    return Error(
        ErrorCode::kStreamSilent,
        fmt::format("server process {}, which sent everything up to {}, has not read the "
                    "slot for {}; {}. The connection was lost, and walrelay opens another "
                    "when it notices",
                    silence.backend_pid, silence.received.ToString(),
                    FormatDuration(silence.lasted),
                    !sample.exists      ? "the slot does not exist"
                    : sample.row.active ? fmt::format("process {} reads it", sample.row.active_pid)
                                        : "no process reads it"));
  }
  if (!standby) {
    return Error(
        ErrorCode::kStreamSilent,
        fmt::format("server process {} has sent nothing beyond {} for {}, although WAL is "
                    "flushed up to {}; it waits for {}",
                    silence.backend_pid, silence.received.ToString(), FormatDuration(silence.idle),
                    sample.flushed.ToString(), silence.wait_event));
  }
  std::string slots;
  for (const AwaitedStandby& awaited : sample.standbys) {
    slots += fmt::format("{}slot {} {}", slots.empty() ? "" : ", ", awaited.slot, awaited.state);
  }
  return Error(ErrorCode::kStandbyAwaited,
               fmt::format("nothing was sent beyond {} for {}; of synchronized_standby_slots, {}",
                           silence.received.ToString(), FormatDuration(silence.idle),
                           slots.empty() ? "some slot is behind" : slots));
}

// The cause that lasts is the one of all samples: a process that works once in between has made
// progress. But one that waits for this and then for that has not. A standby is awaited by every
// process that sends the same position: the wait outlives a connection.
std::optional<StreamSilence> StreamWatch::Add(MonoTime now, const SlotSample& sample,
                                              const OwnStream& stream) {
  WR_CHECK(!episode_ || now >= episode_->since, "samples are in the order of time");
  if (!stream.received.valid() || sample.flushed <= stream.received) {
    episode_.reset();
    return std::nullopt;
  }
  const Episode present{.since = now,
                        .idle_since = now,
                        .pid = stream.backend_pid,
                        .received = stream.received,
                        .cause = CauseOf(sample, stream)};
  const bool same = episode_ && episode_->received == present.received &&
                    (episode_->pid == present.pid || present.cause == SilenceCause::kStandby);
  const auto idle = [](const Episode& episode) { return episode.cause != SilenceCause::kDecoding; };
  if (!same || episode_->cause != present.cause) {
    const MonoTime idle_since =
        same && idle(*episode_) && idle(present) ? episode_->idle_since : now;
    episode_ = present;
    episode_->idle_since = idle_since;
  }
  return StreamSilence{
      .cause = present.cause,
      .lasted = now - episode_->since,
      .idle = idle(present) ? now - episode_->idle_since : Micros(0),
      .backend_pid = stream.backend_pid,
      .received = stream.received,
      .wait_event = IsReader(sample, stream) ? sample.activity->wait_event : std::string()};
}

}  // namespace walrelay

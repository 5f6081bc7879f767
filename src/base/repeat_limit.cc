#include "base/repeat_limit.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace walrelay {
namespace {

// Per kind and window. An outage can cause the same error many times per second.
constexpr int kLinesPerWindow = 10;
constexpr std::chrono::seconds kWindow{10};

}  // namespace

bool RepeatLimit::Admit(const PipelineIdentity* pipeline, std::string_view event,
                        std::string_view code, MonoTime now) {
  // By event and code: the same event with another error is another message. By pipeline: a noisy
  // one must not hide the lines of another.
  Window& window =
      windows_.try_emplace(fmt::format("{} {} {}", fmt::ptr(pipeline), event, code)).first->second;
  if (window.lines == 0 || now - window.start >= kWindow) {
    window.start = now;
    window.lines = 0;
  }
  if (window.lines < kLinesPerWindow) {
    ++window.lines;
    return true;
  }
  ++window.held_back.lines;
  if (window.held_back.lines == 1) {
    window.held_back.pipeline = pipeline;
    window.held_back.event = event;
    window.held_back.code = code;
    ++waiting_;
  }
  return false;
}

std::vector<RepeatLimit::HeldBack> RepeatLimit::Take(MonoTime now) {
  std::vector<HeldBack> taken;
  if (waiting_ == 0) {
    return taken;
  }
  for (auto& [kind, window] : windows_) {
    if (window.held_back.lines > 0 && now - window.start >= kWindow) {
      taken.push_back(std::exchange(window.held_back, HeldBack()));
      --waiting_;
    }
  }
  return taken;
}

}  // namespace walrelay

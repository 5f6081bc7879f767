#include "sinks/kafka/client/timer_slack.h"

#include <librdkafka/rdkafka.h>
#include <sys/prctl.h>

namespace walrelay {
namespace {

constexpr int kFixedIn = 0x020400ff;         // 2.4.0
constexpr unsigned long kSlack = 1'000'000;  // ns

}  // namespace

// A kernel that knows no slack, or a sandbox that forbids it, costs CPU time only.
TimerSlackOfNewThreads::TimerSlackOfNewThreads()
    : before_(rd_kafka_version() < kFixedIn ? prctl(PR_GET_TIMERSLACK) : -1) {
  if (before_ > 0) {
    prctl(PR_SET_TIMERSLACK, kSlack);
  }
}

TimerSlackOfNewThreads::~TimerSlackOfNewThreads() {
  if (before_ > 0) {
    prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
}

}  // namespace walrelay

// Keeps librdkafka's main thread from spinning before each of its timers.
//
// Before version 2.4.0 the thread rounds the time to its next timer down to milliseconds, and polls
// without a pause for the rest: an idle client uses 0.07 % of a core. A timer slack of a
// millisecond lets the kernel wake it after the timer instead of before. The thread only runs
// timers and requests of the client; records do not pass through it.
//
// Source: librdkafka, pull request 4671; prctl(2), PR_SET_TIMERSLACK.
#pragma once

#include <librdkafka/rdkafka.h>

namespace walrelay {

// For clients created with `conf`, with any version: it costs a system call per thread.
void AddTimerSlack(rd_kafka_conf_t* conf);

}  // namespace walrelay

// Keeps librdkafka's main thread from spinning before each of its timers.
//
// Before version 2.4.0 the thread rounds the time to its next timer down to milliseconds, and polls
// without a pause for the rest: an idle client uses 0.07 % of a core. With a timer slack of a
// millisecond the kernel wakes it after the timer instead of before. The client's other threads
// have the slack as well: it delays only their timeouts, which are long; sockets and queues wake
// them at once.
//
// Source: librdkafka, pull request 4671; prctl(2), PR_SET_TIMERSLACK.
#pragma once

namespace walrelay {

// While it exists, threads that the calling thread creates get the slack; the calling thread has it
// too. Does nothing with a version that does not need it. Not an interceptor of librdkafka, which
// would be called on the main thread only: it frees interceptors twice if a client cannot be
// created.
class TimerSlackOfNewThreads {
 public:
  TimerSlackOfNewThreads();
  ~TimerSlackOfNewThreads();
  TimerSlackOfNewThreads(const TimerSlackOfNewThreads&) = delete;
  TimerSlackOfNewThreads& operator=(const TimerSlackOfNewThreads&) = delete;

 private:
  int before_;  // in ns; negative: unknown, or not needed
};

}  // namespace walrelay

#include "kafka/timer_slack.h"

#include <sys/prctl.h>

#include <cstdint>

#include "base/check.h"

namespace walrelay {
namespace {

constexpr unsigned long kMainThreadSlack = 1'000'000;  // ns

// On the new thread. A thread inherits the slack of the one that creates it, and the main thread
// creates those of the brokers: they get the slack of the client's creator, `opaque`.
rd_kafka_resp_err_t SetSlack(rd_kafka_t* /*client*/, rd_kafka_thread_type_t type,
                             const char* /*name*/, void* opaque) {
  prctl(PR_SET_TIMERSLACK, type == RD_KAFKA_THREAD_MAIN
                               ? kMainThreadSlack
                               : static_cast<unsigned long>(reinterpret_cast<uintptr_t>(opaque)));
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// Within rd_kafka_new(), before it starts the threads.
rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/, void* /*opaque*/,
                          char* /*reason*/, size_t /*reason_size*/) {
  const int slack = prctl(PR_GET_TIMERSLACK);
  return rd_kafka_interceptor_add_on_thread_start(
      client, "timer_slack", SetSlack,
      reinterpret_cast<void*>(static_cast<uintptr_t>(slack > 0 ? slack : 50'000)));
}

}  // namespace

void AddTimerSlack(rd_kafka_conf_t* conf) {
  const rd_kafka_resp_err_t error =
      rd_kafka_conf_interceptor_add_on_new(conf, "timer_slack", OnNew, nullptr);
  WR_CHECK(error == RD_KAFKA_RESP_ERR_NO_ERROR, "the configuration has no other timer_slack");
}

}  // namespace walrelay

#include "sinks/kafka/producer/request_watch.h"

#include <chrono>

namespace walrelay {
namespace {

constexpr int16_t kProduce = 0;
constexpr int16_t kInitProducerId = 22;
constexpr int16_t kAddPartitionsToTxn = 24;
constexpr int16_t kEndTxn = 26;

// librdkafka repeats a registration after 20 ms.
constexpr int64_t kRepeatMicros = 15'000;

Micros SteadyNow() {
  return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch());
}

rd_kafka_resp_err_t OnRequestSent(rd_kafka_t* /*client*/, int /*socket*/, const char* /*broker*/,
                                  int32_t /*broker_id*/, int16_t api_key, int16_t /*version*/,
                                  int32_t /*correlation*/, size_t /*size*/, void* opaque) {
  static_cast<RequestWatch*>(opaque)->OnSent(api_key, SteadyNow());
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnResponseReceived(rd_kafka_t* /*client*/, int /*socket*/,
                                       const char* /*broker*/, int32_t /*broker_id*/,
                                       int16_t api_key, int16_t /*version*/,
                                       int32_t /*correlation*/, size_t /*size*/, int64_t /*rtt*/,
                                       rd_kafka_resp_err_t error, void* opaque) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    static_cast<RequestWatch*>(opaque)->OnAnswered(api_key, SteadyNow());
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/, void* opaque,
                          char* /*reason*/, size_t /*size*/) {
  rd_kafka_interceptor_add_on_request_sent(client, "walrelay", OnRequestSent, opaque);
  return rd_kafka_interceptor_add_on_response_received(client, "walrelay", OnResponseReceived,
                                                       opaque);
}

}  // namespace

void RequestWatch::Attach(rd_kafka_conf_t* conf) {
  rd_kafka_conf_interceptor_add_on_new(conf, "walrelay", OnNew, this);
}

void RequestWatch::OnSent(int16_t api_key, Micros now) {
  switch (api_key) {
    case kProduce:
      registering_since_ = 0;
      return;
    case kAddPartitionsToTxn: {
      if (const int64_t answered = commit_answered_at_.exchange(0); answered != 0) {
        registration_delay_ = now.count() - answered;
      }
      const int64_t before = registering_since_.exchange(now.count());
      if (before != 0 && now.count() - before >= kRepeatMicros) {
        ++repeated_registrations_;
      }
      return;
    }
    case kEndTxn:
      registering_since_ = 0;
      ++commits_sent_;
      return;
    default:
      return;
  }
}

void RequestWatch::OnAnswered(int16_t api_key, Micros now) {
  if (api_key == kInitProducerId) {
    ++claims_answered_;
  } else if (api_key == kEndTxn) {
    registration_delay_ = 0;
    commit_answered_at_ = now.count();
  }
}

}  // namespace walrelay

#include "sinks/kafka/producer/acknowledgement_times.h"

#include <bit>

#include "base/system_clock.h"

namespace walrelay {
namespace {

rd_kafka_resp_err_t OnAcknowledgement(rd_kafka_t* /*client*/, rd_kafka_message_t* message,
                                      void* opaque) {
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    static_cast<AcknowledgementTimes*>(opaque)->Add(std::bit_cast<DeliveryToken>(message->_private),
                                                    SystemClock().Now());
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t AddInterceptor(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/,
                                   void* opaque, char* /*reason*/, size_t /*size*/) {
  return rd_kafka_interceptor_add_on_acknowledgement(client, "walrelay", OnAcknowledgement, opaque);
}

}  // namespace

void AcknowledgementTimes::Attach(rd_kafka_conf_t* conf) {
  rd_kafka_conf_interceptor_add_on_new(conf, "walrelay", AddInterceptor, this);
}

// Neighbours in a transaction, and successive transactions, have different entries.
size_t AcknowledgementTimes::IndexOf(DeliveryToken token) {
  return (size_t{token.transaction} + token.ordinal) % kEntries;
}

// The time first: a reader that finds the token finds this time, or that of a later record.
void AcknowledgementTimes::Add(DeliveryToken token, MonoTime now) {
  Entry& entry = entries_[IndexOf(token)];
  entry.time.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  entry.token.store(std::bit_cast<uint64_t>(token), std::memory_order_release);
}

std::optional<MonoTime> AcknowledgementTimes::Find(DeliveryToken token) const {
  const Entry& entry = entries_[IndexOf(token)];
  if (entry.token.load(std::memory_order_acquire) != std::bit_cast<uint64_t>(token)) {
    return std::nullopt;
  }
  const MonoTime::rep time = entry.time.load(std::memory_order_relaxed);
  return time == 0 ? std::nullopt : std::optional(MonoTime(MonoTime::duration(time)));
}

}  // namespace walrelay

#include "sinks/kafka/topics/progress_consumer.h"

#include <utility>

#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int16_t kFetch = 1;
// Brokers answer without records when there are none for fetch.wait.max.ms: about 70 bytes, and the
// topic's name, which has at most 249.
constexpr size_t kEmptyAnswer = 512;

rd_kafka_resp_err_t OnFetched(rd_kafka_t* /*client*/, int /*socket*/, const char* /*broker*/,
                              int32_t /*broker_id*/, int16_t api_key, int16_t /*version*/,
                              int32_t /*correlation*/, size_t size, int64_t /*rtt*/,
                              rd_kafka_resp_err_t error, void* opaque) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    static_cast<ProgressConsumer*>(opaque)->OnAnswered(api_key, size);
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnClientCreated(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/,
                                    void* opaque, char* /*reason*/, size_t /*size*/) {
  return rd_kafka_interceptor_add_on_response_received(client, "walrelay", OnFetched, opaque);
}

}  // namespace

// The last offset of the topic is that of a transaction's marker: brokers hold a request for the
// records behind it for fetch.wait.max.ms. On a slow link, each answer must arrive before the
// reader loses its patience: a small one does.
absl::StatusOr<KafkaConf> MakeProgressConf(const KafkaConfig& kafka) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  rd_kafka_conf_set(conf.get(), "fetch.wait.max.ms", "10", nullptr, 0);
  rd_kafka_conf_set(conf.get(), "fetch.message.max.bytes", "262144", nullptr, 0);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  return conf;
}

absl::StatusOr<std::unique_ptr<ProgressConsumer>> ProgressConsumer::Create(KafkaConf conf) {
  std::unique_ptr<ProgressConsumer> consumer(new ProgressConsumer);
  rd_kafka_conf_interceptor_add_on_new(conf.get(), "walrelay", OnClientCreated, consumer.get());
  WR_ASSIGN_OR_RETURN(consumer->client_, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  return consumer;
}

void ProgressConsumer::OnAnswered(int16_t api_key, size_t size) {
  if (api_key == kFetch && size > kEmptyAnswer) {
    fetched_ += size;
  }
}

}  // namespace walrelay

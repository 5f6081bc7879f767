#include "kafka/broker_settings.h"

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ConfigResource =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<&rd_kafka_ConfigResource_destroy>>;

// The brokers send every value as text.
std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// Other settings are ignored; the set of settings depends on the version.
void TakeSetting(std::string_view name, std::string_view value, BrokerSettings& out) {
  if (name == "auto.create.topics.enable") {
    out.creates_topics = value == "true";
  } else if (name == "default.replication.factor") {
    out.default_replicas = NumberOf(value);
  } else if (name == "producer.id.expiration.ms") {
    if (const auto millis = NumberOf(value)) {
      out.producer_id_lifetime = std::chrono::milliseconds(*millis);
    }
  }
}

// Best effort: an answer that is missing or denied leaves all values absent.
BrokerSettings SettingsOf(rd_kafka_t* client, int32_t broker, int millis) {
  BrokerSettings out;
  const ConfigResource owned(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, std::to_string(broker).c_str()));
  rd_kafka_ConfigResource_t* resource = owned.get();
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_DescribeConfigs(client, &resource, 1, nullptr, queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  const auto* result =
      event != nullptr ? rd_kafka_event_DescribeConfigs_result(event.get()) : nullptr;
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return out;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** found =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  if (count != 1 || rd_kafka_ConfigResource_error(found[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return out;
  }
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(found[0], &count);
  for (size_t i = 0; i < count; ++i) {
    // nullptr for a sensitive setting.
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    TakeSetting(rd_kafka_ConfigEntry_name(entries[i]), value != nullptr ? value : "", out);
  }
  return out;
}

}  // namespace

// A consumer and not a producer: its metadata request does not create topics, and it needs no
// producer id.
absl::StatusOr<BrokerSettings> ReadBrokerSettings(const KafkaConfig& kafka, Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  const struct rd_kafka_metadata* found = nullptr;
  const int millis = static_cast<int>(timeout.count() / 1000);
  // Any broker will do: these settings are the same on all brokers of a cluster that is configured
  // consistently.
  const rd_kafka_resp_err_t asked = rd_kafka_metadata(client.get(), 0, nullptr, &found, millis);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ClientError(asked, {});
  }
  const KafkaMetadata metadata(found);
  return metadata->broker_cnt == 0 ? BrokerSettings()
                                   : SettingsOf(client.get(), metadata->brokers[0].id, millis);
}

}  // namespace walrelay

#include "sinks/kafka/admin/broker_settings.h"

#include <charconv>
#include <string>
#include <string_view>

#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/topic_settings.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The brokers send every value as text.
std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::optional<Micros> DurationOf(std::string_view text) {
  const auto millis = NumberOf(text);
  return millis ? std::optional<Micros>(std::chrono::milliseconds(*millis)) : std::nullopt;
}

// Other settings are ignored; the set of settings depends on the version.
void TakeSetting(std::string_view name, std::string_view value, BrokerSettings& out) {
  if (name == "auto.create.topics.enable") {
    out.creates_topics = value == "true";
  } else if (name == "default.replication.factor") {
    out.default_replicas = NumberOf(value);
  } else if (name == "producer.id.expiration.ms") {
    out.producer_id_lifetime = DurationOf(value);
  } else if (name == "transaction.max.timeout.ms") {
    out.max_transaction = DurationOf(value);
  }
}

// Best effort: an answer that is missing or denied leaves all values absent.
BrokerSettings SettingsOfBroker(rd_kafka_t* client, int32_t broker, int millis) {
  BrokerSettings out;
  for (const auto& [id, settings] :
       ReadSettings(client, RD_KAFKA_RESOURCE_BROKER, {std::to_string(broker)}, millis)) {
    for (const auto& [name, value] : settings) {
      TakeSetting(name, value, out);
    }
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
  return metadata->broker_cnt == 0
             ? BrokerSettings()
             : SettingsOfBroker(client.get(), metadata->brokers[0].id, millis);
}

}  // namespace walrelay

#include "sinks/kafka/topics/topic_settings.h"

#include <charconv>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {
namespace {

using ConfigResource =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<&rd_kafka_ConfigResource_destroy>>;

KafkaSettings SettingsOf(const rd_kafka_ConfigResource_t* resource) {
  KafkaSettings settings;
  size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (size_t i = 0; i < count; ++i) {
    // nullptr for a sensitive setting.
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    settings[rd_kafka_ConfigEntry_name(entries[i])] = value != nullptr ? value : "";
  }
  return settings;
}

}  // namespace

std::optional<int64_t> NumberIn(const KafkaSettings& settings, const std::string& name) {
  const auto found = settings.find(name);
  const std::string_view value = found != settings.end() ? found->second : std::string_view();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::optional(number)
                                                                    : std::nullopt;
}

// One request for all resources; brokers answer each separately.
void RequestSettings(rd_kafka_t* client, rd_kafka_ResourceType_t type,
                     const std::vector<std::string>& names, rd_kafka_queue_t* replies) {
  WR_CHECK(!names.empty(), "a request names a resource");
  std::vector<ConfigResource> owned;
  std::vector<rd_kafka_ConfigResource_t*> resources;
  for (const std::string& name : names) {
    owned.emplace_back(rd_kafka_ConfigResource_new(type, name.c_str()));
    resources.push_back(owned.back().get());
  }
  rd_kafka_DescribeConfigs(client, resources.data(), resources.size(), nullptr, replies);
}

std::map<std::string, KafkaSettings> SettingsIn(rd_kafka_event_t* event) {
  const rd_kafka_DescribeConfigs_result_t* result = rd_kafka_event_DescribeConfigs_result(event);
  std::map<std::string, KafkaSettings> settings;
  if (result == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return settings;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** found =
      rd_kafka_DescribeConfigs_result_resources(result, &count);
  for (size_t i = 0; i < count; ++i) {
    if (rd_kafka_ConfigResource_error(found[i]) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      settings[rd_kafka_ConfigResource_name(found[i])] = SettingsOf(found[i]);
    }
  }
  return settings;
}

std::map<std::string, KafkaSettings> ReadSettings(rd_kafka_t* client, rd_kafka_ResourceType_t type,
                                                  const std::vector<std::string>& names,
                                                  int millis) {
  const KafkaQueue queue(rd_kafka_queue_new(client));
  RequestSettings(client, type, names, queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), millis));
  return event != nullptr ? SettingsIn(event.get()) : std::map<std::string, KafkaSettings>();
}

}  // namespace walrelay

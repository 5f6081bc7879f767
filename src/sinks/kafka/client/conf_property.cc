#include "sinks/kafka/client/conf_property.h"

#include <cstring>
#include <string_view>

#include "base/secret_file.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

// All properties are set by name, so that librdkafka's own validation and its messages apply to
// ours as well.
absl::Status SetProperty(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char reason[512];
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason, sizeof(reason)) ==
      RD_KAFKA_CONF_OK) {
    return absl::OkStatus();
  }
  std::string_view text = reason;
  while (text.ends_with('\n')) {  // librdkafka ends some messages with a newline
    text.remove_suffix(1);
  }
  return Error(ErrorCode::kKafkaConfiguration, Printable(text));
}

absl::Status SetIfGiven(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  return value.empty() ? absl::OkStatus() : SetProperty(conf, name, value);
}

absl::Status SetSecret(rd_kafka_conf_t* conf, const std::string& name, const Secret& value,
                       const std::string& file) {
  if (!file.empty()) {
    WR_ASSIGN_OR_RETURN(const Secret secret, ReadSecretFile(file));
    return SetProperty(conf, name, secret.Reveal());
  }
  return SetIfGiven(conf, name, value.Reveal());
}

// librdkafka returns the size with the final zero byte first.
std::string ConfValue(const rd_kafka_conf_t& conf, const char* name) {
  size_t size = 0;
  if (rd_kafka_conf_get(&conf, name, nullptr, &size) != RD_KAFKA_CONF_OK || size == 0) {
    return "";
  }
  std::string value(size, '\0');
  rd_kafka_conf_get(&conf, name, value.data(), &size);
  value.resize(std::strlen(value.c_str()));
  return value;
}

}  // namespace walrelay

// The properties of a configuration of librdkafka, by name.
//
// librdkafka validates each value, and knows aliases of the names.
// Source: librdkafka, CONFIGURATION.md.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>

#include "absl/status/status.h"
#include "walrelay/secret.h"

namespace walrelay {

// Sets a property. Errors: WR-4006 with librdkafka's text, in one line.
absl::Status SetProperty(rd_kafka_conf_t* conf, const std::string& name, const std::string& value);
// The same, unless `value` is empty.
absl::Status SetIfGiven(rd_kafka_conf_t* conf, const std::string& name, const std::string& value);
// Sets a property to the content of `file`, or to `value` if `file` is empty. Errors: also WR-1005
// for the file.
absl::Status SetSecret(rd_kafka_conf_t* conf, const std::string& name, const Secret& value,
                       const std::string& file);

// The value of a property; "" if it is not set. Passwords are not masked.
std::string ConfValue(const rd_kafka_conf_t& conf, const char* name);

}  // namespace walrelay

// The login of a client to the brokers: the mechanism, with the password or the source of tokens.
#pragma once

#include "absl/status/status.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {

struct KafkaConfig;

// Sets the login of [kafka] in `conf`, and its tokens; obtains no token. Reads the file with the
// password. Errors: WR-4006 for a property that librdkafka rejects, WR-1005 for a file, WR-4013 for
// a login that this build of librdkafka does not support, WR-1003 for a source of tokens that
// cannot exist.
absl::Status SetLogin(const KafkaConfig& kafka, KafkaConf& conf);

}  // namespace walrelay

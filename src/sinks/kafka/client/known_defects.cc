#include "sinks/kafka/client/known_defects.h"

#include <fmt/format.h>

#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// As RD_KAFKA_VERSION: one byte each, and a last byte for pre-releases, which is not compared.
constexpr int Version(int major, int minor, int revision) {
  return major << 24 | minor << 16 | revision << 8;
}

}  // namespace

// Source: librdkafka's CHANGELOG.md; the numbers are those of its issues.
std::vector<KnownDefect> KnownDefectsOf(int version, const KafkaConfig& kafka) {
  // Only defects that can affect this configuration, so that a warning is never about something
  // else.
  std::vector<KnownDefect> defects;
  if (version < Version(2, 3, 0)) {  // 4438
    defects.push_back(
        {"after a request whose response was lost it may consider the producer failed; events in "
         "flight are then sent again",
         "2.3.0"});
  }
  if (version >= Version(2, 2, 0) && version < Version(2, 5, 0)) {  // 4736, 4750
    defects.push_back(
        {"it may fail to retry a large batch; the producer is replaced, and events in flight are "
         "sent again",
         "2.5.0"});
  }
  if (version >= Version(2, 4, 0) && version < Version(2, 10, 0)) {  // 4907; 2.10.0 has 5088
    defects.push_back(
        {"it may crash after a broker restarts or a topic is recreated; systemd or Kubernetes "
         "restarts walrelay, and events in flight are sent again",
         "2.10.1"});
  }
  if (version < Version(2, 6, 1) && kafka.sasl_mechanism.starts_with("SCRAM-")) {  // 4895
    defects.push_back(
        {"brokers since 3.7.2, 3.8.1 and 3.9 reject its SCRAM logins as invalid credentials",
         "2.6.1"});
  }
  if (version >= Version(2, 10, 0) && version < Version(2, 10, 1)) {  // 5088
    defects.push_back({"after all brokers were down it may not reconnect", "2.10.1"});
  }
  return defects;
}

// Before 2.0.0 a commit that times out cannot be repeated. 2.2.0 to 2.4: 4750, a retried batch may
// differ from the first. 2.10.0: 5088.
absl::Status CheckTransactionSupport(int version) {
  const bool retries = version >= Version(2, 2, 0) && version < Version(2, 5, 0);
  const bool reconnects = version < Version(2, 10, 0) || version >= Version(2, 10, 1);
  if (version >= Version(2, 0, 0) && !retries && reconnects) {
    return absl::OkStatus();
  }
  return Error(
      ErrorCode::kTransactionsUnsupported,
      fmt::format("librdkafka {}.{}.{} has a known defect: {}", version >> 24, version >> 16 & 0xFF,
                  version >> 8 & 0xFF,
                  version < Version(2, 0, 0) ? "a commit that was interrupted is not resumed"
                  : retries ? "a batch that is sent again may differ (its issue 4750)"
                            : "it may not reconnect to brokers (its issue 5088)"),
      "Install librdkafka 2.5.3 or later, but not 2.10.0, or set pipeline.mode = "
      "\"topics\".");
}

}  // namespace walrelay

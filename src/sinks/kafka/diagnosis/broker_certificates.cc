#include "sinks/kafka/diagnosis/broker_certificates.h"

#include <fmt/format.h>

#include "base/system_clock.h"
#include "base/text.h"
#include "findings/certificate_check.h"
#include "walrelay/config/kafka.h"

namespace walrelay {

void CheckBrokerCertificates(const KafkaConfig& kafka, const std::vector<std::string>& brokers,
                             Findings& out) {
  // Other protocols use no TLS. A handshake with a plaintext listener would only time out.
  if (kafka.security_protocol != "SSL" && kafka.security_protocol != "SASL_SSL") {
    return;
  }
  for (const std::string& broker : brokers) {
    const std::string whose = fmt::format("broker {}", Printable(broker, 200));
    // Kafka's protocol has no request for TLS: a TLS listener expects the handshake at once.
    const auto chain = FetchCertificatesAt(broker, [](int) { return absl::OkStatus(); });
    if (chain.ok()) {
      JudgeChain("tls.kafka", whose, *chain, SystemClock().WallNow(), kRenewServerCertificate, out);
    } else {
      out.Warn("tls.kafka",
               fmt::format("{}: cannot read its certificate: {}", whose,
                           std::string(chain.status().message())),
               "Make sure that a TLS listener is reachable at this address.");
    }
  }
}

}  // namespace walrelay

// Expiry of the brokers' certificates.
#pragma once

#include <string>
#include <vector>

#include "findings/findings.h"

namespace walrelay {

struct KafkaConfig;

// In separate handshakes; adds no finding without TLS. `brokers`: "host:port".
// One finding per broker; a certificate that cannot be read is a warning. Blocks for up to three
// seconds per step and broker.
void CheckBrokerCertificates(const KafkaConfig& kafka, const std::vector<std::string>& brokers,
                             Findings& out);

}  // namespace walrelay

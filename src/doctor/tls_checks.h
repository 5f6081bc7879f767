// Expiry of the certificates that connections depend on: the servers' and the client's.
#pragma once

#include <string>
#include <vector>

#include "doctor/certificates.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// A chain expires with the first of its certificates. Warns when less than 30 days are left, or
// less than a third of the certificate's lifetime if that is shorter.
void JudgeChain(CheckName check, const std::string& whose, const std::vector<Certificate>& chain,
                WallTime now, const std::string& remedy, Findings& out);

// A bundle of authorities expires with the last of its certificates: it may contain old ones.
void JudgeBundle(CheckName check, const std::string& whose, const std::vector<Certificate>& bundle,
                 WallTime now, const std::string& remedy, Findings& out);

// The certificate files that the configuration names.
void CheckCertificateFiles(const Config& config, Findings& out);

// The certificate of an open connection.
void CheckPostgresCertificate(const PgConnection& connection, Findings& out);

// In a separate handshake, for a server whose certificate libpq rejected.
void CheckRefusedPostgresCertificate(const SourceConfig& source, Findings& out);

// In separate handshakes; adds no finding without TLS. `brokers`: "host:port".
void CheckBrokerCertificates(const KafkaConfig& kafka, const std::vector<std::string>& brokers,
                             Findings& out);

}  // namespace walrelay

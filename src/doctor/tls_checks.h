// Until when the certificates are valid that connections rest on: the servers' and our own.
#pragma once

#include <string>
#include <vector>

#include "doctor/certificates.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

// A chain is as good as the first of it that expires. Warns when less than 30 days are left, or
// less than a third of the certificate's life where that is shorter.
void JudgeChain(CheckName check, const std::string& whose, const std::vector<Certificate>& chain,
                WallTime now, const std::string& remedy, Findings& out);

// A bundle of authorities is as good as the last of it: others may stand there for the past.
void JudgeBundle(CheckName check, const std::string& whose, const std::vector<Certificate>& bundle,
                 WallTime now, const std::string& remedy, Findings& out);

// The files that the configuration names.
void CheckCertificateFiles(const Config& config, Findings& out);

// Of a connection that stands.
void CheckPostgresCertificate(const PgConnection& connection, Findings& out);

// By a handshake of our own: for a server whose certificate libpq has refused.
void CheckRefusedPostgresCertificate(const SourceConfig& source, Findings& out);

// By handshakes of our own; nothing without TLS. `brokers`: "host:port".
void CheckBrokerCertificates(const KafkaConfig& kafka, const std::vector<std::string>& brokers,
                             Findings& out);

}  // namespace walrelay

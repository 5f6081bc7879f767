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
// REQUIRES: !chain.empty(). A certificate that is expired or not yet valid is a problem, one with
// enough time left a good finding. `whose` and `remedy` are shown as they are.
void JudgeChain(CheckName check, const std::string& whose, const std::vector<Certificate>& chain,
                WallTime now, const std::string& remedy, Findings& out);

// A bundle of authorities expires with the last of its certificates: it may contain old ones.
// REQUIRES: !bundle.empty(). Same thresholds.
void JudgeBundle(CheckName check, const std::string& whose, const std::vector<Certificate>& bundle,
                 WallTime now, const std::string& remedy, Findings& out);

// The certificate files that the configuration names.
// Those of libpq's parameters (sslrootcert, sslcert) included. A directory is skipped: it has one
// file per authority. A file that cannot be read, or contains no certificate, is a problem. At most
// 4 MiB of a file are read.
void CheckCertificateFiles(const Config& config, Findings& out);

// The certificate of an open connection.
// No finding without TLS.
void CheckPostgresCertificate(const PgConnection& connection, Findings& out);

// In a separate handshake, for a server whose certificate libpq rejected.
// Requests TLS as libpq does (SSLRequest) from the first host. No finding if that fails, or for a
// Unix socket: the refused connection is reported already. Blocks for up to three seconds per step.
void CheckRefusedPostgresCertificate(const SourceConfig& source, Findings& out);

// In separate handshakes; adds no finding without TLS. `brokers`: "host:port".
// One finding per broker; a certificate that cannot be read is a warning. Blocks for up to three
// seconds per step and broker.
void CheckBrokerCertificates(const KafkaConfig& kafka, const std::vector<std::string>& brokers,
                             Findings& out);

}  // namespace walrelay

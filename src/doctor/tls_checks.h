// Expiry of the certificates that connections depend on: the servers' and the client's.
#pragma once

#include "findings/findings.h"
#include "postgres/connection.h"

namespace walrelay {

struct KafkaConfig;
struct SourceConfig;

// The certificate files that the configuration names.
// Those of libpq's parameters (sslrootcert, sslcert) included. A directory is skipped: it has one
// file per authority. A file that cannot be read, or contains no certificate, is a problem. At most
// 4 MiB of a file are read.
void CheckCertificateFiles(const SourceConfig& source, const KafkaConfig& kafka, Findings& out);

// The certificate of an open connection.
// No finding without TLS.
void CheckPostgresCertificate(const PgConnection& connection, Findings& out);

// In a separate handshake, for a server whose certificate libpq rejected.
// Requests TLS as libpq does (SSLRequest) from the first host. No finding if that fails, or for a
// Unix socket: the refused connection is reported already. Blocks for up to three seconds per step.
void CheckRefusedPostgresCertificate(const SourceConfig& source, Findings& out);

}  // namespace walrelay

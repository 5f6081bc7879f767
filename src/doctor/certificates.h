// X.509 certificates: subject and validity, for doctor.
//
// The only place that calls OpenSSL. Nothing is verified here: libpq and librdkafka reject
// certificates that they do not trust. But for an expired certificate they report only that the
// verification failed, and they do not report one that expires soon.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

struct Certificate {
  std::string subject;  // "CN=db.example,O=Example"
  WallTime not_before;
  WallTime not_after;
};

// All certificates of a PEM text, in order; keys and comments in between are ignored.
std::vector<Certificate> ParseCertificates(std::string_view pem);

// The chain that the peer presented, its own certificate first. `tls`: PgConnection::tls(), not
// null.
std::vector<Certificate> PeerCertificates(void* tls);

// The chain that the peer presents in a handshake on a connected socket, its own certificate first.
// `host` is the server name to request. Also works if the peer then closes the connection because
// it requires a client certificate. kUnavailable, with the reason, on failure or after `timeout`.
absl::StatusOr<std::vector<Certificate>> FetchCertificates(int socket, const std::string& host,
                                                           Micros timeout);

}  // namespace walrelay

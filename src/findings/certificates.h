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

// In the form of RFC 2253. Times are UTC; the epoch if OpenSSL cannot parse them.
struct Certificate {
  std::string subject;  // "CN=db.example,O=Example"
  WallTime not_before;
  WallTime not_after;
};

// All certificates of a PEM text, in order; keys and comments in between are ignored.
// Ends at the first certificate that cannot be parsed; empty if there is none. Pure.
std::vector<Certificate> ParseCertificates(std::string_view pem);

// The chain that the peer presented, its own certificate first. `tls`: PgConnection::tls(), not
// null.
// Empty if the peer presented none. Does not block. The result is a copy and outlives the
// connection.
std::vector<Certificate> PeerCertificates(void* tls);

// The chain that the peer presents in a handshake on a connected socket, its own certificate first.
// `host` is the server name to request. Also works if the peer then closes the connection because
// it requires a client certificate. kUnavailable, with the reason, on failure or after `timeout`.
// REQUIRES: `socket` is non-blocking; it stays open and belongs to the caller. `timeout` is for the
// whole handshake. The server name is sent only if `host` is a name (RFC 6066, section 3). Ignores
// SIGPIPE for the whole process until it returns: not for use beside threads that rely on that
// signal.
absl::StatusOr<std::vector<Certificate>> FetchCertificates(int socket, const std::string& host,
                                                           Micros timeout);

}  // namespace walrelay

// X.509 certificates, as far as doctor looks at them: whose they are, and until when.
//
// The only place that calls OpenSSL. Nothing is verified here: that is for libpq and librdkafka,
// which refuse what they do not trust. But what they say of a certificate that has expired is that
// it "failed", and of one that is about to they say nothing.
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

// All that a PEM text holds, in their order; keys and comments in between are passed over.
std::vector<Certificate> ParseCertificates(std::string_view pem);

// What the peer of a connection has shown, its own first. `tls`: PgConnection::tls(), not null.
std::vector<Certificate> PeerCertificates(void* tls);

// What the peer shows in a handshake on a connected socket, its own certificate first. `host` is
// who is asked for. Also of a peer that then hangs up, for want of a certificate of ours.
// kUnavailable, with the reason, when there was none in time.
absl::StatusOr<std::vector<Certificate>> AskForCertificates(int socket, const std::string& host,
                                                            Micros timeout);

}  // namespace walrelay

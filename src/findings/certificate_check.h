// Whether certificates expire: the part of such checks that every server has in common.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "findings/certificates.h"
#include "findings/findings.h"
#include "walrelay/clock.h"

namespace walrelay {

// For connecting, and again for the handshake.
inline constexpr std::chrono::seconds kHandshakeTimeout{3};

inline constexpr char kRenewServerCertificate[] =
    "Renew it on the server, and reload the server; walrelay needs no restart.";

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

// The certificates that the server at "host:port" presents, in a handshake that verifies none.
// `begin` sends what precedes the handshake. Blocks for up to kHandshakeTimeout per step.
// kUnavailable, with the reason, on failure; errors of `begin`.
absl::StatusOr<std::vector<Certificate>> FetchCertificatesAt(const std::string& address,
                                                             absl::Status (*begin)(int socket));

}  // namespace walrelay

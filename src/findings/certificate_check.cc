#include "findings/certificate_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "findings/reachability.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Time for an operator to renew a certificate of a year.
constexpr Micros kSoon = std::chrono::hours(24 * 30);

// Without the fraction of a second, which certificates do not have.
std::string DateOf(WallTime time) {
  return Rfc3339(time).substr(0, sizeof("2026-01-01T00:00:00") - 1) + "Z";
}

void Judge(CheckName check, const std::string& whose, const Certificate& certificate, WallTime now,
           const std::string& remedy, Findings& out) {
  const std::string name = fmt::format("{}: certificate {}", whose, certificate.subject);
  const std::string until = DateOf(certificate.not_after);
  const Micros left = certificate.not_after - now;
  // Certificates that are renewed automatically often live for days or weeks only. A third of the
  // lifetime is when common ACME clients renew.
  const Micros soon = std::min(kSoon, (certificate.not_after - certificate.not_before) / 3);
  if (left <= Micros(0)) {
    out.Problem(check, fmt::format("{} has expired, at {}", name, until), remedy);
  } else if (now < certificate.not_before) {
    out.Problem(check,
                fmt::format("{} is not valid before {}", name, DateOf(certificate.not_before)),
                "Wait, or correct this host's clock (timedatectl).");
  } else if (left < soon) {
    out.Warn(check, fmt::format("{} expires in {}, at {}", name, FormatDuration(left), until),
             remedy);
  } else {
    out.Good(check, fmt::format("{} is valid for {}, until {}", name, FormatDuration(left), until));
  }
}

// An order for min_element() and max_element().
bool ExpiresFirst(const Certificate& a, const Certificate& b) {
  return a.not_after < b.not_after;
}

// The host of "host:port", without the brackets of an IPv6 address.
std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

void JudgeChain(CheckName check, const std::string& whose, const std::vector<Certificate>& chain,
                WallTime now, const std::string& remedy, Findings& out) {
  WR_CHECK(!chain.empty(), "a peer shows a certificate");
  Judge(check, whose, *std::min_element(chain.begin(), chain.end(), ExpiresFirst), now, remedy,
        out);
}

void JudgeBundle(CheckName check, const std::string& whose, const std::vector<Certificate>& bundle,
                 WallTime now, const std::string& remedy, Findings& out) {
  WR_CHECK(!bundle.empty(), "a bundle has a certificate");
  Judge(check, whose, *std::max_element(bundle.begin(), bundle.end(), ExpiresFirst), now, remedy,
        out);
}

absl::StatusOr<std::vector<Certificate>> FetchCertificatesAt(const std::string& address,
                                                             absl::Status (*begin)(int socket)) {
  WR_ASSIGN_OR_RETURN(const UniqueFd socket, Reach(address, kHandshakeTimeout));
  WR_RETURN_IF_ERROR(begin(socket.get()));
  return FetchCertificates(socket.get(), HostOf(address), kHandshakeTimeout);
}

}  // namespace walrelay

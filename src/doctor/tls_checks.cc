#include "doctor/tls_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/read_to_end.h"
#include "base/system_clock.h"
#include "base/unique_fd.h"
#include "findings/certificate_check.h"
#include "postgres/connection_parameters.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// Far above a system's bundle of authorities. The path comes from the configuration and may name a
// device that never ends.
constexpr size_t kMaxBytes = size_t{4} << 20;

constexpr char kRenewFile[] =
    "Put the renewed certificate there. walrelay reads it for each new connection to "
    "Postgres; for Kafka, restart walrelay.";

// A chain fails with its first expired certificate. A bundle lists authorities of which one
// suffices, and usually keeps expired ones until the next update.
enum class Kind { kChain, kBundle };

struct File {
  std::string option;  // as in the configuration
  std::string path;
  Kind kind;
};

// Files of both clients, also those that only a pass-through property of librdkafka names. Defaults
// such as ~/.postgresql/root.crt are not listed.
std::vector<File> NamedFiles(const SourceConfig& source, const KafkaConfig& kafka) {
  std::vector<File> files = {
      {"kafka.ssl_ca_file", kafka.ssl_ca_file, Kind::kBundle},
      {"kafka.ssl_certificate_file", kafka.ssl_certificate_file, Kind::kChain}};
  for (const auto& [name, value] : kafka.librdkafka) {
    if (name == "ssl.ca.location") {
      files.push_back({"kafka.librdkafka " + name, value, Kind::kBundle});
    } else if (name == "ssl.certificate.location") {
      files.push_back({"kafka.librdkafka " + name, value, Kind::kChain});
    }
  }
  const auto parameters = MakeConnectionParameters(source, ConnectionPurpose::kSql);
  for (const auto& [name, value] : parameters.value_or(ConnectionParameters())) {
    // "system" is a keyword of libpq 16 and later, not a file.
    if (name == "sslrootcert" && value != "system") {
      files.push_back({"sslrootcert of source.dsn", value, Kind::kBundle});
    } else if (name == "sslcert") {
      files.push_back({"sslcert of source.dsn", value, Kind::kChain});
    }
  }
  std::erase_if(files, [](const File& file) { return file.path.empty(); });
  return files;
}

void CheckFile(const File& file, WallTime now, Findings& out) {
  const std::string whose = fmt::format("{} ({})", file.option, file.path);
  const UniqueFd opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (opened.valid() && ::fstat(opened.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return;  // one file per authority, named by its hash
  }
  const auto text = opened.valid() ? ReadToEnd(opened.get(), kMaxBytes) : std::nullopt;
  if (!text) {
    out.Problem("tls.files", fmt::format("{}: {}", whose, std::generic_category().message(errno)),
                "Name an existing file that walrelay's user may read.");
    return;
  }
  const std::vector<Certificate> found = ParseCertificates(*text);
  if (found.empty()) {
    out.Problem("tls.files", whose + ": the file contains no certificate",
                "Name a file in PEM format: -----BEGIN CERTIFICATE-----");
  } else if (file.kind == Kind::kBundle) {
    JudgeBundle("tls.files", whose, found, now, kRenewFile, out);
  } else {
    JudgeChain("tls.files", whose, found, now, kRenewFile, out);
  }
}

// The server reports whether it supports TLS before the handshake starts.
// Source: Postgres documentation, "Message Formats", SSLRequest.
absl::Status RequestPostgresTls(int socket) {
  // The length, 8, and the code 80877103, both in network byte order.
  constexpr std::array<unsigned char, 8> kRequest = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};
  pollfd answer{socket, POLLIN, 0};
  char says = 0;
  if (::send(socket, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(kRequest.size()) ||
      ::poll(&answer, 1, static_cast<int>(std::chrono::milliseconds(kHandshakeTimeout).count())) <=
          0 ||
      ::recv(socket, &says, 1, 0) != 1 || says != 'S') {
    return absl::UnavailableError("the server offers no TLS");
  }
  return absl::OkStatus();
}

}  // namespace

void CheckCertificateFiles(const SourceConfig& source, const KafkaConfig& kafka, Findings& out) {
  for (const File& file : NamedFiles(source, kafka)) {
    CheckFile(file, SystemClock().WallNow(), out);
  }
}

void CheckPostgresCertificate(const PgConnection& connection, Findings& out) {
  // The connection uses no TLS: there is no certificate.
  if (connection.tls() == nullptr) {
    return;
  }
  if (const auto chain = PeerCertificates(connection.tls()); !chain.empty()) {
    JudgeChain("tls.postgres", "the Postgres server", chain, SystemClock().WallNow(),
               kRenewServerCertificate, out);
  }
}

void CheckRefusedPostgresCertificate(const SourceConfig& source, Findings& out) {
  const auto parameters = MakeConnectionParameters(source, ConnectionPurpose::kSql);
  std::string host;
  std::string port = "5432";
  for (const auto& [name, value] : parameters.value_or(ConnectionParameters())) {
    if (name == "host") {
      host = value;
    } else if (name == "port") {
      port = value;
    }
  }
  // With several hosts, the first is enough to explain the failure.
  host = host.substr(0, host.find(','));
  port = port.substr(0, port.find(','));
  // libpq uses no TLS on a Unix socket, which is the meaning of a path and usually the default.
  if (host.empty() || host.starts_with('/')) {
    return;
  }
  if (const auto chain = FetchCertificatesAt(fmt::format("{}:{}", host, port), RequestPostgresTls);
      chain.ok()) {
    JudgeChain("tls.postgres", "the Postgres server", *chain, SystemClock().WallNow(),
               kRenewServerCertificate, out);
  }
}

}  // namespace walrelay

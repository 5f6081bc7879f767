#include "postgres/source_identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "postgres/dsn.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string NameOfThisMachine() {
  // The last byte stays zero: gethostname() does not end a name that it truncates.
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// "host" or "host:port", without the port 5432.
std::string ClusterName(const ConnectionParameters& parameters) {
  std::string host(ListEntry(ParameterOf(parameters, "host"), 0));
  if (host.empty()) {
    host = ListEntry(ParameterOf(parameters, "hostaddr"), 0);
  }
  if (IsLocalHost(host)) {
    host = NameOfThisMachine();
  } else if (host.find(':') != std::string::npos) {
    host = fmt::format("[{}]", host);
  }
  const std::string_view port = ListEntry(ParameterOf(parameters, "port"), 0);
  return port.empty() || port == "5432" ? host : fmt::format("{}:{}", host, port);
}

// The service that names the host; "": none.
std::string ServiceOf(const ConnectionParameters& own) {
  const char* variable = std::getenv("PGSERVICE");
  const std::string_view service = ParameterOf(own, "service");
  if (FindParameter(own, "host") != nullptr || FindParameter(own, "hostaddr") != nullptr) {
    return "";
  }
  return service.empty() && variable != nullptr ? variable : std::string(service);
}

std::string SourceName(const SourceConfig& source) {
  if (!source.name.empty()) {
    return source.name;
  }
  const auto own = ParseDsn(source.dsn);
  if (!own.ok()) {
    return "?";
  }
  if (const std::string service = ServiceOf(*own); !service.empty()) {
    const std::string_view database = ParameterOf(*own, "dbname");
    return database.empty() ? service : fmt::format("{}/{}", service, database);
  }
  const auto completed = CompleteDsn(*own);
  return completed.ok() ? fmt::format("{}/{}", ClusterName(completed->parameters),
                                      ParameterOf(completed->parameters, "dbname"))
                        : "?";
}

}  // namespace

absl::Status CheckSourceName(const SourceConfig& source) {
  const std::string name = SourceName(source);
  const bool plain = name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') ||
                              std::string_view("._-:/[]").find(c) != std::string_view::npos;
                     });
  // The error of an invalid DSN is that of MakeConnectionParameters().
  return plain || name == "?"
             ? absl::OkStatus()
             : Error(ErrorCode::kConfigValue,
                     "source.dsn: the names of its host and database are not suitable as the name "
                     "of the source, which has at most 128 letters, digits and \"._-:/\"",
                     "Set name in [source].");
}

PipelineIdentity IdentityOf(const SourceConfig& source) {
  return {.source = SourceName(source), .slot = source.slot};
}

}  // namespace walrelay

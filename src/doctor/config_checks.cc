#include "doctor/config_checks.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "config/masked_dsn.h"
#include "config/option.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// Read permission for the group is not a finding: many services read their files that way.
bool IsReadByAll(const std::string& path) {
  struct stat info {};
  return !path.empty() && ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0;
}

// Secrets whose value comes from the file itself: variables and flags override it.
std::vector<std::string> SecretsInFile(const LoadedConfig& loaded) {
  const SourceConfig& source = loaded.config.source;
  const KafkaConfig& kafka = loaded.config.kafka;
  std::vector<std::pair<std::string, bool>> secrets = {
      // The DSN counts only if it holds a password, which is the case exactly if masking changes
      // it.
      {"source.dsn", MaskedDsn(source.dsn) != source.dsn},
      {"source.password", !source.password.Reveal().empty()},
      {"kafka.sasl_password", !kafka.sasl_password.Reveal().empty()},
      {"kafka.oauth.client_secret", !kafka.oauth.client_secret.empty()},
      {"kafka.ssl_key_password", !kafka.ssl_key_password.Reveal().empty()}};
  for (const auto& [name, value] : kafka.librdkafka) {
    secrets.emplace_back(fmt::format("{}{}", kPassThroughPrefix, name), IsSecretProperty(name));
  }
  std::vector<std::string> found;
  for (const auto& [name, given] : secrets) {
    const auto origin = loaded.origins.find(name);
    if (given && origin != loaded.origins.end() &&
        origin->second.text.starts_with(loaded.file_name)) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace

void CheckSecretsAreKept(const LoadedConfig& loaded, Findings& out) {
  if (IsReadByAll(loaded.file_name)) {
    for (const std::string& name : SecretsInFile(loaded)) {
      out.Warn(
          "config.secrets",
          fmt::format("{} contains {} and is readable by every local user", loaded.file_name, name),
          fmt::format("chmod o= {}; or keep the secret in a separate file (password_file, "
                      "sasl_password_file)",
                      loaded.file_name));
    }
  }
  // The mode of the configuration file does not matter here: the key has a file of its own.
  // librdkafka reads it without checking its mode.
  const std::string& key = loaded.config.kafka.ssl_key_file;
  if (IsReadByAll(key)) {
    out.Warn("config.secrets",
             fmt::format("kafka.ssl_key_file ({}) is readable by every local user", key),
             fmt::format("chmod o= {}", key));
  }
}

void CheckCredentials(const Config& config, Findings& out) {
  for (const Option& option : Options()) {
    if (option.show(config).starts_with("\"/run/credentials/")) {
      out.Good("config.credentials",
               fmt::format("{} is a credential of systemd: restart the unit when it was rotated",
                           option.Name()));
    }
  }
}

}  // namespace walrelay

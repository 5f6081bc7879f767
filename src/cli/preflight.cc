#include "cli/preflight.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/program.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "config/option.h"
#include "http/listen_address.h"
#include "kafka/client/conf.h"
#include "postgres/connection_parameters.h"
#include "prune/prune_pass.h"
#include "route/topic_name.h"
#include "route/topic_router.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr char kSection[] = "kafka";

// By building what `run` builds: librdkafka's own parser judges its properties, and the router's
// the template.
class Preflight {
 public:
  explicit Preflight(const Config& config) : config_(config) {}

  std::vector<OptionError> Run(ConfigNeeds needs) {
    if (needs.postgres) {
      CheckSource();
    }
    if (needs.kafka) {
      CheckKafka();
    }
    CheckRoute();
    CheckHttp();
    return std::move(errors_);
  }

 private:
  void Add(std::string option, const absl::Status& status) {
    if (!status.ok()) {
      errors_.push_back({std::move(option), status});
    }
  }

  // A directory can be read, too: of certificates, one file each. A pipe would block.
  void CheckFile(std::string option, std::string_view what, const std::string& path) {
    const UniqueFd file(path.empty() ? -1
                                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!path.empty() && !file.valid()) {
      Add(std::move(option),
          Error(ErrorCode::kNamedFile, fmt::format("{}: \"{}\": {}", what, Printable(path, 200),
                                                   std::generic_category().message(errno))));
    }
  }

  void CheckSecret(const std::string& option, const std::string& path) {
    if (!path.empty()) {
      Add(option, Annotate(ReadSecretFile(path).status(), option));
    }
  }

  void CheckSource() {
    CheckSecret("source.password_file", config_.source.password_file);
    if (const auto& command = config_.source.password_command; !command.empty()) {
      Add("source.password_command",
          Annotate(FindProgram(command.front()), "source.password_command"));
    }
    CheckLogin("source.dsn", config_.source, ConnectionPurpose::kReplication);
    Add("source.dsn", CheckSourceName(config_.source));
    if (!config_.prune.dsn.empty()) {
      CheckSecret("prune.password_file", config_.prune.password_file);
      CheckLogin("prune.dsn", PruneLogin(config_), ConnectionPurpose::kSetup);
    }
  }

  void CheckLogin(const std::string& option, SourceConfig login, ConnectionPurpose purpose) {
    // Checked as an option of its own.
    login.password_file.clear();
    const auto parameters = MakeConnectionParameters(login, purpose, option);
    Add(option, parameters.status());
    for (const auto& [name, value] : parameters.value_or(ConnectionParameters())) {
      // "system" is a keyword of libpq 16 and later.
      const bool authorities = name == "sslrootcert" && value != "system";
      if (const absl::Status status = CheckRootCertificate(*parameters);
          authorities && !status.ok()) {
        Add(option, Annotate(status, option));
      } else if (authorities || name == "sslcert" || name == "sslkey" || name == "sslcrl" ||
                 name == "sslcrldir") {
        CheckFile(option, fmt::format("{} of {}", name, option), value);
      }
    }
  }

  void CheckKafka() {
    const KafkaConfig& kafka = config_.kafka;
    const size_t before = errors_.size();
    Add("kafka.bootstrap_servers", CheckKafkaTransport(kafka));
    CheckSecret("kafka.sasl_password_file", kafka.sasl_password_file);
    CheckSecret("kafka.ssl_key_password_file", kafka.ssl_key_password_file);
    for (const auto& [option, path] :
         {std::pair("kafka.ssl_ca_file", &kafka.ssl_ca_file),
          std::pair("kafka.ssl_certificate_file", &kafka.ssl_certificate_file),
          std::pair("kafka.ssl_key_file", &kafka.ssl_key_file)}) {
      CheckFile(option, option, *path);
    }
    for (const auto& property : kafka.librdkafka) {
      CheckProperty(property);
    }
    // After an error it would only be repeated, in the words of OpenSSL.
    if (errors_.size() == before) {
      CheckClient();
    }
  }

  void CheckProperty(const std::pair<std::string, std::string>& property) {
    const std::string option = fmt::format("{}{}", kPassThroughPrefix, property.first);
    KafkaConfig alone;
    alone.librdkafka = {property};
    Add(option, MakeProducerConf(alone, config_.pipeline, alone.max_batch_bytes).status());
    if (property.first.ends_with(".location")) {
      CheckFile(option, fmt::format("[kafka.librdkafka] {}", property.first), property.second);
    }
  }

  void CheckClient() {
    const absl::Status status = CheckProducer(config_.kafka, config_.pipeline);
    if (!status.ok()) {
      const std::string option = OptionOf(MessageOf(status));
      Add(option, option == kSection ? status : Annotate(status, option));
    }
  }

  // The option whose property a message of librdkafka names; else the section, so that the message
  // is dropped if an option of it has an error: it would only repeat it.
  static std::string OptionOf(std::string_view message) {
    constexpr std::pair<std::string_view, const char*> kProperties[] = {
        {"ssl.ca.location", "kafka.ssl_ca_file"},
        {"ssl.certificate.location", "kafka.ssl_certificate_file"},
        {"ssl.key.location", "kafka.ssl_key_file"}};
    for (const auto& [property, option] : kProperties) {
      if (message.starts_with(property)) {
        return option;
      }
    }
    return kSection;
  }

  // The expression first, without the template: a template may be wrong because of it.
  void CheckRoute() {
    RouteConfig expression = config_.route;
    expression.topic = "topic";
    const absl::Status regex = TopicRouter::Create(expression).status();
    Add("route.regex", regex);
    if (regex.ok()) {
      Add("route.topic", TopicRouter::Create(config_.route, ReservedTopics(config_)).status());
    }
    // The dead-letter topic is the only topic whose name no row decides, so it can be checked now.
    const std::string& topic = config_.on_error.dead_letter_topic;
    if (const absl::Status status = CheckTopicName(topic); !topic.empty() && !status.ok()) {
      // The code of CheckTopicName() is that of a row, which blocks publishing.
      Add("on_error.dead_letter_topic",
          Error(ErrorCode::kConfigValue,
                fmt::format("on_error.dead_letter_topic: {}", MessageOf(status))));
    }
  }

  void CheckHttp() {
    const std::string& listen = config_.http.listen;
    if (!listen.empty() && !ListenAddress::Parse(listen)) {
      const bool is_port = ListenAddress::Parse(":" + listen).has_value();
      Add("http.listen",
          Error(
              ErrorCode::kHttpListen,
              fmt::format("http.listen: expected \"address:port\" with an IP address, got \"{}\"{}",
                          Printable(listen, 80),
                          is_port ? fmt::format("; did you mean \"127.0.0.1:{}\"?", listen) : ""),
              "Use an address of this host, \":9464\" for all of them, or \"\" for no HTTP "
              "server."));
    }
  }

  const Config& config_;
  std::vector<OptionError> errors_;
};

}  // namespace

std::vector<OptionError> CheckOffline(const Config& config, ConfigNeeds needs) {
  return Preflight(config).Run(needs);
}

}  // namespace walrelay

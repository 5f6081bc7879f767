#include "cli/preflight.h"

#include <fmt/format.h>

#include <utility>

#include "base/named_file.h"
#include "base/program.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "http/listen_address.h"
#include "postgres/connection_parameters.h"
#include "postgres/source_identity.h"
#include "prune/prune_pass.h"
#include "route/topic_name.h"
#include "route/topic_router.h"
#include "sinks/registry.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// By building what `run` builds: the parsers of libraries judge their options, and the router's
// the template.
class Preflight {
 public:
  explicit Preflight(const Config& config) : config_(config) {}

  std::vector<OptionError> Run(ConfigNeeds needs) {
    if (needs.postgres) {
      CheckSource();
    }
    if (needs.kafka) {
      MakeSinkFactory(config_)->CheckOffline(
          [this](std::string option, const absl::Status& error) { Add(std::move(option), error); });
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
      CheckLogin("prune.dsn", PruneLogin(config_.source, config_.prune), ConnectionPurpose::kSetup);
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
        Add(option, CheckNamedFile(fmt::format("{} of {}", name, option), value));
      }
    }
  }

  // The expression first, without the template: a template may be wrong because of it.
  void CheckRoute() {
    RouteConfig expression = config_.route;
    expression.topic = "topic";
    const absl::Status regex = TopicRouter::Create(expression).status();
    Add("route.regex", regex);
    if (regex.ok()) {
      const auto reserved = ReservedTopics(config_.progress_topic(), config_.on_error);
      Add("route.topic", TopicRouter::Create(config_.route, reserved).status());
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

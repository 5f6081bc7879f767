#include "sinks/kafka/factory/offline_check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/named_file.h"
#include "base/secret_file.h"
#include "config/option.h"
#include "sinks/kafka/client/conf.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr char kSection[] = "kafka";

// By building what `run` builds: librdkafka's own parser judges its properties.
class OfflineCheck {
 public:
  OfflineCheck(const KafkaConfig& kafka, const PipelineConfig& pipeline,
               const SinkFactory::OnInvalid& on_invalid)
      : kafka_(kafka), pipeline_(pipeline), on_invalid_(on_invalid) {}

  void Run() {
    Add("kafka.bootstrap_servers", CheckKafkaTransport(kafka_));
    CheckSecret("kafka.sasl_password_file", kafka_.sasl_password_file);
    CheckSecret("kafka.ssl_key_password_file", kafka_.ssl_key_password_file);
    for (const auto& [option, path] :
         {std::pair("kafka.ssl_ca_file", &kafka_.ssl_ca_file),
          std::pair("kafka.ssl_certificate_file", &kafka_.ssl_certificate_file),
          std::pair("kafka.ssl_key_file", &kafka_.ssl_key_file)}) {
      Add(option, CheckNamedFile(option, *path));
    }
    for (const auto& property : kafka_.librdkafka) {
      CheckProperty(property);
    }
    // After an error it would only be repeated, in the words of OpenSSL.
    if (valid_) {
      CheckClient();
    }
  }

 private:
  void Add(std::string option, const absl::Status& status) {
    if (!status.ok()) {
      valid_ = false;
      on_invalid_(std::move(option), status);
    }
  }

  void CheckSecret(const std::string& option, const std::string& path) {
    if (!path.empty()) {
      Add(option, Annotate(ReadSecretFile(path).status(), option));
    }
  }

  void CheckProperty(const std::pair<std::string, std::string>& property) {
    const std::string option = fmt::format("{}{}", kPassThroughPrefix, property.first);
    KafkaConfig alone;
    alone.librdkafka = {property};
    Add(option, MakeProducerConf(alone, pipeline_, alone.max_batch_bytes).status());
    if (property.first.ends_with(".location")) {
      Add(option,
          CheckNamedFile(fmt::format("[kafka.librdkafka] {}", property.first), property.second));
    }
  }

  void CheckClient() {
    const absl::Status status = CheckProducer(kafka_, pipeline_);
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

  const KafkaConfig& kafka_;
  const PipelineConfig& pipeline_;
  const SinkFactory::OnInvalid& on_invalid_;
  bool valid_ = true;
};

}  // namespace

void CheckKafkaOffline(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                       const SinkFactory::OnInvalid& on_invalid) {
  OfflineCheck(kafka, pipeline, on_invalid).Run();
}

}  // namespace walrelay

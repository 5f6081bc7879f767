#include "sinks/kafka/client/login.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>
#include <vector>

#include "auth/token_source.h"
#include "base/text.h"
#include "sinks/kafka/client/conf_property.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// librdkafka's name of the build feature that a mechanism needs; "" for an unknown mechanism.
std::string_view FeatureOf(std::string_view mechanism) {
  if (mechanism.starts_with("SCRAM-SHA-")) {
    return "sasl_scram";
  }
  if (mechanism == "OAUTHBEARER" || mechanism == "AWS_MSK_IAM") {
    return "sasl_oauthbearer";
  }
  return mechanism == "PLAIN" ? "sasl_plain" : mechanism == "GSSAPI" ? "sasl_gssapi" : "";
}

// librdkafka would reject the mechanism only when a client is created. Its list of features is
// separated by commas.
absl::Status CheckMechanism(const rd_kafka_conf_t& conf, std::string_view mechanism) {
  const std::string_view feature = FeatureOf(mechanism);
  const std::string features = fmt::format(",{},", ConfValue(conf, "builtin.features"));
  if (mechanism.empty() ||
      (!feature.empty() && features.find(fmt::format(",{},", feature)) != std::string::npos)) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kKafkaLoginUnsupported,
               feature.empty()
                   ? fmt::format("kafka.sasl_mechanism \"{}\" is unknown; expected SCRAM-SHA-512, "
                                 "SCRAM-SHA-256, PLAIN, OAUTHBEARER, AWS_MSK_IAM or GSSAPI",
                                 Printable(mechanism, 80))
                   : fmt::format("kafka.sasl_mechanism \"{}\": librdkafka {} was built without {}",
                                 mechanism, rd_kafka_version_str(), feature));
}

// "name=value" of each becomes two elements.
std::vector<std::string> SplitExtensions(const std::vector<std::string>& extensions) {
  std::vector<std::string> out;
  for (const std::string& extension : extensions) {
    const size_t end = extension.find('=');
    out.push_back(extension.substr(0, end));
    out.push_back(extension.substr(end + 1));
  }
  return out;
}

}  // namespace

absl::Status SetLogin(const KafkaConfig& kafka, KafkaConf& conf) {
  WR_RETURN_IF_ERROR(CheckMechanism(*conf, kafka.sasl_mechanism));
  // Brokers know the IAM login as OAUTHBEARER, with a token that AWS defines.
  WR_RETURN_IF_ERROR(SetIfGiven(conf.get(), "sasl.mechanism",
                                UsesTokens(kafka) ? "OAUTHBEARER" : kafka.sasl_mechanism));
  WR_ASSIGN_OR_RETURN(conf.tokens.source, MakeTokenSource(kafka));
  conf.tokens.extensions = SplitExtensions(kafka.oauth.extensions);
  WR_RETURN_IF_ERROR(SetIfGiven(conf.get(), "sasl.username", kafka.sasl_username));
  return SetSecret(conf.get(), "sasl.password", kafka.sasl_password, kafka.sasl_password_file);
}

}  // namespace walrelay

#include "debezium/debezium_producer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "debezium/debezium_login.h"
#include "debezium/debezium_rules.h"
#include "debezium/jaas_config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A property with the same meaning under another name.
struct Renamed {
  std::string_view name;
  std::string_view setting;
};

constexpr Renamed kRenamed[] = {
    {"bootstrap.servers", "kafka.bootstrap_servers"},
    {"client.id", "kafka.client_id"},
    {"compression.type", "kafka.compression"},
    {"max.request.size", "kafka.max_record_bytes"},
    {"security.protocol", "kafka.security_protocol"},
    {"sasl.mechanism", "kafka.sasl_mechanism"},
    {"sasl.kerberos.service.name", "kafka.librdkafka.sasl.kerberos.service.name"},
    {"sasl.kerberos.kinit.cmd", "kafka.librdkafka.sasl.kerberos.kinit.cmd"},
    {"reconnect.backoff.ms", "kafka.librdkafka.reconnect.backoff.ms"},
    {"reconnect.backoff.max.ms", "kafka.librdkafka.reconnect.backoff.max.ms"},
    {"connections.max.idle.ms", "kafka.librdkafka.connections.max.idle.ms"},
};

constexpr std::string_view kGuaranteed =
    "fixed by the guarantees: acks=all, idempotent, in order, without a timeout";
constexpr std::string_view kPaced =
    "walrelay sends immediately while it is up to date, in large batches while it lags";
constexpr std::string_view kInside = "only concerns the internals of the Java client";

// Properties without effect in walrelay: an operator need not decide anything about them.
constexpr PropertyRule kMeaninglessProducerRules[] = {
    {"acks", kGuaranteed},
    {"enable.idempotence", kGuaranteed},
    {"retries", kGuaranteed},
    {"retry.backoff.ms", kGuaranteed},
    {"retry.backoff.max.ms", kGuaranteed},
    {"delivery.timeout.ms", kGuaranteed},
    {"request.timeout.ms", kGuaranteed},
    {"max.block.ms", kGuaranteed},
    {"max.in.flight.requests.per.connection", kGuaranteed},
    {"linger.ms", kPaced},
    {"batch.size", kPaced},
    {"buffer.memory", "pipeline.max_in_flight_bytes bounds what is in flight"},
    {"send.buffer.bytes", kInside},
    {"receive.buffer.bytes", kInside},
    {"metadata.max.age.ms", kInside},
    {"metadata.max.idle.ms", kInside},
    {"metadata.recovery.strategy", kInside},
    {"metric.reporters", kInside},
    {"metrics.num.samples", kInside},
    {"metrics.recording.level", kInside},
    {"metrics.sample.window.ms", kInside},
    {"enable.metrics.push", kInside},
    {"client.dns.lookup", kInside},
    {"socket.connection.setup.timeout.ms", kInside},
    {"socket.connection.setup.timeout.max.ms", kInside},
    {"partitioner.adaptive.partitioning.enable", kInside},
    {"partitioner.availability.timeout.ms", kInside},
    {"transaction.timeout.ms", "see kafka.transaction_timeout"},
    {"transactional.id", "see pipeline.mode and pipeline.id"},
    {"sasl.login.refresh.*", kInside},
    {"sasl.kerberos.ticket.renew.jitter", kInside},
    {"sasl.kerberos.ticket.renew.window.factor", kInside},
    {"sasl.kerberos.min.time.before.relogin", kInside},
    {"ssl.protocol", "OpenSSL negotiates the newest version that both sides support"},
    {"ssl.enabled.protocols", "OpenSSL negotiates the newest version that both sides support"},
    {"ssl.provider", kInside},
    {"ssl.keymanager.algorithm", kInside},
    {"ssl.trustmanager.algorithm", kInside},
    {"ssl.secure.random.implementation", kInside},
    {"ssl.truststore.password", "PEM certificates have no password"},
};

// Properties that change what is sent or how the client logs in, and that only Java can execute.
constexpr PropertyRule kRefusedProducerRules[] = {
    {"interceptor.classes", "interceptors are Java code"},
    {"sasl.client.callback.handler.class", "callback handlers are Java code"},
    {"sasl.login.callback.handler.class", "callback handlers are Java code"},
    {"sasl.oauthbearer.*", "configure the login of walrelay in [kafka.oauth]"},
    {"sasl.login.class", "login classes are Java code"},
    {"ssl.engine.factory.class", "factories are Java code"},
    {"ssl.cipher.suites", "OpenSSL uses other names: set ssl.cipher.suites in [kafka.librdkafka]"},
    {"security.providers", "providers are Java code"},
};

// The login module decides which of its options exist.
PropertyResult TranslateJaas(const DebeziumProperty& property, DebeziumTranslation& out) {
  const auto login = ParseJaasConfig(property.value);
  if (!login.ok()) {
    return property.external
               ? Refused("the whole login comes from a config provider", "kafka.sasl_password")
               : Refused(MessageOf(login.status()), "kafka.sasl_password");
  }
  // "" for an option that is absent.
  const auto option = [&](const char* name) {
    const auto found = login->options.find(name);
    return found == login->options.end() ? std::string() : found->second;
  };
  if (login->module.ends_with("ScramLoginModule") || login->module.ends_with("PlainLoginModule")) {
    const std::string password = option("password");
    out.settings["kafka.sasl_username"] = option("username");
    // A config provider has the password; the login module and the user's name are in the file.
    if (password.find("${") != std::string::npos) {
      return out.Want("kafka.sasl_password_file");
    }
    out.settings["kafka.sasl_password"] = password;
    return Translated("kafka.sasl_username, kafka.sasl_password",
                      "prefer a file: kafka.sasl_password_file");
  }
  if (login->module.ends_with("Krb5LoginModule")) {
    for (const auto& [name, setting] :
         {std::pair("keyTab", "kafka.librdkafka.sasl.kerberos.keytab"),
          std::pair("principal", "kafka.librdkafka.sasl.kerberos.principal"),
          std::pair("serviceName", "kafka.librdkafka.sasl.kerberos.service.name")}) {
      if (const std::string value = option(name); !value.empty()) {
        out.settings[setting] = value;
      }
    }
    return Translated("kafka.librdkafka.sasl.kerberos.*");
  }
  if (auto result = TranslateTokenLogin(*login, out)) {
    return *std::move(result);
  }
  return Refused(
      fmt::format("walrelay does not support the login \"{}\"", Printable(login->module, 120)),
      "kafka.sasl_mechanism");
}

// "jks" is Java's default for both stores.
std::string TypeOfStore(std::string_view store, const DebeziumOptions& producer) {
  return JavaLower(ValueOr(producer, fmt::format("ssl.{}.type", store), "jks"));
}

// PEM files have the same form in both clients; a Java key store can only be read by Java.
PropertyResult TranslateTruststore(const std::string& value, const DebeziumOptions& producer,
                                   DebeziumTranslation& out) {
  if (TypeOfStore("truststore", producer) == "pem") {
    return out.Set("kafka.ssl_ca_file", value);
  }
  return Refused(
      "a Java key store: run keytool -list -rfc -keystore FILE > ca.pem, and name ca.pem",
      "kafka.ssl_ca_file");
}

PropertyResult TranslateKeystore(const std::string& value, const DebeziumOptions& producer,
                                 DebeziumTranslation& out) {
  const std::string type = TypeOfStore("keystore", producer);
  if (type == "pem") {
    // Java's PEM key store is one file with the key and its chain; librdkafka reads each part from
    // the file that it is given.
    out.settings["kafka.ssl_certificate_file"] = value;
    out.settings["kafka.ssl_key_file"] = value;
    return Translated("kafka.ssl_certificate_file, kafka.ssl_key_file");
  }
  if (type == "pkcs12") {
    return out.Set("kafka.librdkafka.ssl.keystore.location", value);
  }
  return Refused(
      "a Java key store: run keytool -importkeystore -deststoretype PKCS12, then openssl pkcs12",
      "kafka.ssl_key_file");
}

// A secret, or a request to supply it if the file does not contain it.
PropertyResult TranslateSecret(const std::string& setting, const DebeziumProperty& property,
                               DebeziumTranslation& out) {
  return property.external ? out.Want(setting) : out.Set(setting, property.value);
}

// nullopt if the name is not one of these properties of TLS. Locations and inline certificates
// become different settings, because librdkafka has separate properties for files and for PEM text.
std::optional<PropertyResult> TranslateTls(std::string_view name, const DebeziumProperty& property,
                                           const DebeziumOptions& producer,
                                           DebeziumTranslation& out) {
  const std::string& value = property.value;
  if (name == "ssl.truststore.type" || name == "ssl.keystore.type") {
    return Translated(name == "ssl.truststore.type" ? "kafka.ssl_ca_file" : "kafka.ssl_key_file",
                      "decides how the store is parsed");
  }
  if (name == "ssl.truststore.location") {
    return TranslateTruststore(value, producer, out);
  }
  if (name == "ssl.keystore.location") {
    return TranslateKeystore(value, producer, out);
  }
  if (name == "ssl.truststore.certificates") {
    return TranslateSecret("kafka.librdkafka.ssl.ca.pem", property, out);
  }
  if (name == "ssl.keystore.certificate.chain") {
    return TranslateSecret("kafka.librdkafka.ssl.certificate.pem", property, out);
  }
  if (name == "ssl.keystore.key") {
    return TranslateSecret("kafka.librdkafka.ssl.key.pem", property, out);
  }
  if (name == "ssl.key.password") {
    return TranslateSecret("kafka.ssl_key_password", property, out);
  }
  if (name == "ssl.keystore.password") {
    return TypeOfStore("keystore", producer) == "pkcs12"
               ? TranslateSecret("kafka.librdkafka.ssl.keystore.password", property, out)
               : Meaningless("only a key store has a password");
  }
  // In Java an empty value turns the check off; librdkafka's word for it is "none".
  if (name == "ssl.endpoint.identification.algorithm") {
    return out.Set("kafka.librdkafka.ssl.endpoint.identification.algorithm",
                   JavaTrim(value).empty() ? "none" : JavaLower(value));
  }
  return std::nullopt;
}

// Connect passes bytes to the producer; Debezium Server encodes text as UTF-8.
PropertyResult TranslateSerializer(const std::string& value) {
  return value.ends_with("ByteArraySerializer") || value.ends_with("StringSerializer")
             ? Equivalent("[format] decides the bytes")
             : Refused(fmt::format("walrelay does not support \"{}\"", Printable(value, 120)));
}

// The same hash of the same key: a key's records stay in their partition when walrelay replaces the
// connector.
PropertyResult TranslatePartitioner(std::string_view name, const std::string& value) {
  // The default of both properties: the hash of the key, unless keys are ignored.
  const bool usual = name == "partitioner.class"
                         ? value.empty() || value.ends_with("DefaultPartitioner")
                         : JavaLower(value) == "false";
  return usual ? Equivalent("the key decides the partition, as in Java")
               : Refused(
                     "in walrelay the key decides the partition, as in Java's default partitioner");
}

}  // namespace

// Checks that need several properties come first; then the tables.
std::optional<PropertyResult> TranslateProducerOption(std::string_view name,
                                                      const DebeziumProperty& property,
                                                      const DebeziumOptions& producer,
                                                      DebeziumTranslation& out) {
  if (name == "sasl.jaas.config") {
    return TranslateJaas(property, out);
  }
  if (auto result = TranslateTokenProperty(name, property, out)) {
    return result;
  }
  if (auto result = TranslateTls(name, property, producer, out)) {
    return result;
  }
  if (name == "key.serializer" || name == "value.serializer") {
    return TranslateSerializer(property.value);
  }
  if (name == "partitioner.class" || name == "partitioner.ignore.keys") {
    return TranslatePartitioner(name, property.value);
  }
  for (const Renamed& renamed : kRenamed) {
    if (renamed.name == name) {
      return out.Set(std::string(renamed.setting), JavaTrim(property.value));
    }
  }
  if (const PropertyRule* rule = FindRule(kRefusedProducerRules, name)) {
    return Refused(std::string(rule->reason));
  }
  if (const PropertyRule* rule = FindRule(kMeaninglessProducerRules, name)) {
    return Meaningless(rule->reason);
  }
  return std::nullopt;
}

// Also without any TLS property, because PLAINTEXT is Kafka's default.
void FinishSink(DebeziumTranslation& out) {
  auto& settings = out.settings;
  const auto protocol = settings.find("kafka.security_protocol");
  const bool tls = protocol != settings.end() && protocol->second.ends_with("SSL");
  // A setting that the connector has explicitly stays as it is.
  const auto checked = settings.find("kafka.librdkafka.ssl.endpoint.identification.algorithm");
  // The producer connected without verified TLS; walrelay requires an explicit setting for that.
  if (settings.contains("kafka.bootstrap_servers") &&
      (!tls || (checked != settings.end() && checked->second != "https"))) {
    settings.try_emplace("kafka.allow_insecure", "true");
  }
}

}  // namespace walrelay

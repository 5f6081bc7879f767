#include "sinks/kafka/client/conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/http_call.h"
#include "base/log.h"
#include "base/loopback.h"
#include "base/text.h"
#include "sinks/kafka/client/conf_property.h"
#include "sinks/kafka/client/known_defects.h"
#include "sinks/kafka/client/login.h"
#include "sinks/kafka/client/timer_slack.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

struct Property {
  std::string_view name;
  std::string_view value;
};

// Ordering, no loss, and Java's partitioner: walrelay's guarantees depend on these properties.
// With acks=1, a record that only the leader has is lost with the leader. Idempotence: a retried
// batch is stored once and in order. The gapless guarantee: librdkafka fails permanently rather
// than continue behind a record that failed. No timeout: an outage of the brokers, however long,
// fails no record. With transactions the gapless guarantee has no effect: after such a record
// librdkafka refuses to commit.
constexpr Property kGuarantees[] = {
    {"enable.idempotence", "true"},       {"acks", "all"},
    {"enable.gapless.guarantee", "true"}, {"message.timeout.ms", "0"},
    {"partitioner", "murmur2_random"},
};

// Properties reserved for walrelay, including their aliases.
constexpr std::string_view kDenied[] = {
    "enable.idempotence",
    "acks",
    "request.required.acks",
    "enable.gapless.guarantee",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "partitioner",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "retries",
    "message.send.max.retries",
    "queuing.strategy",
    "delivery.report.only.error",
    "transactional.id",
    "batch.size",
    "message.max.bytes",
    "transaction.timeout.ms",
    "bootstrap.servers",
    "metadata.broker.list",
    "enabled_events",
    "sasl.password",
    "ssl.key.password",
    "plugin.library.paths",
    "sasl.mechanism",  // decides where tokens come from
    "sasl.mechanisms",
    "security.protocol",      // otherwise it would bypass CheckKafkaTransport()
    "test.mock.num.brokers",  // would acknowledge records that no broker stores
};

// Overridable by [kafka.librdkafka].
constexpr Property kDefaults[] = {
    // The relay produces in bursts while it lags, and record by record otherwise: it knows which
    // applies, librdkafka does not.
    {"linger.ms", "0"},
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    {"socket.timeout.ms", "30000"},
    {"socket.connection.setup.timeout.ms", "10000"},
    {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "2000"},
    // A topic is looked up before its first record; after that, the relay decides how to handle a
    // missing topic.
    {"topic.metadata.propagation.max.ms", "3600000"},
    {"topic.metadata.refresh.fast.interval.ms", "50"},
    {"log.connection.close", "false"},
};

// Tokens come from [kafka.oauth]: librdkafka's own sources depend on how it was built.
bool ConfiguresTokens(std::string_view name) {
  return name.starts_with("sasl.oauthbearer.") || name == "enable.sasl.oauthbearer.unsecure.jwt";
}

bool IsDenied(std::string_view name) {
  // librdkafka also accepts a topic property with this prefix.
  if (constexpr std::string_view kPrefix = "topic."; name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
  }
  return std::find(std::begin(kDenied), std::end(kDenied), name) != std::end(kDenied);
}

// Comes after walrelay's defaults and before its guarantees, so that the former can be overridden
// and the latter cannot.
absl::Status SetPassThrough(rd_kafka_conf_t* conf, const KafkaConfig& kafka) {
  for (const auto& [name, value] : kafka.librdkafka) {
    if (IsDenied(name)) {
      return Error(
          ErrorCode::kKafkaConfiguration,
          fmt::format("[kafka.librdkafka] \"{}\" is set by walrelay itself", Printable(name, 80)),
          "Remove it: walrelay's guarantees depend on it, or [kafka] has a separate key for it.");
    }
    if (ConfiguresTokens(name)) {
      return Error(
          ErrorCode::kKafkaLoginUnsupported,
          fmt::format("[kafka.librdkafka] \"{}\": walrelay obtains tokens itself",
                      Printable(name, 80)),
          "Remove it, and configure the token in [kafka.oauth] (token_file, token_command or "
          "token_endpoint).");
    }
    // These debug contexts print passwords and tokens.
    if (name == "debug" &&
        (value.find("all") != std::string::npos || value.find("security") != std::string::npos ||
         value.find("conf") != std::string::npos)) {
      return Error(ErrorCode::kKafkaConfiguration,
                   "[kafka.librdkafka] debug contexts all, security and conf "
                   "would write secrets to the log");
    }
    WR_RETURN_IF_ERROR(Annotate(SetProperty(conf, name, value),
                                fmt::format("[kafka.librdkafka] {}", Printable(name, 80))));
  }
  return absl::OkStatus();
}

// Called from any librdkafka thread. The client's opaque is the pipeline of the thread that made
// its configuration; before there is a client, the lines are of that thread.
void ForwardLog(const rd_kafka_t* client, int level, const char* facility, const char* message) {
  const LogScope scope(client != nullptr
                           ? static_cast<const PipelineIdentity*>(rd_kafka_opaque(client))
                           : LogScope::Current());
  // CONFWARN: the gapless guarantee, which is enabled on purpose. FATAL, TXNERR and TERMINATE: the
  // relay itself reports the failure and the end of a producer. GETPID: a claim that waits for the
  // end of an earlier transaction. Readers never join a group, and are closed while librdkafka may
  // still connect to its coordinator.
  const std::string_view kind = facility;
  const bool known = kind == "CONFWARN" || kind == "FATAL" || kind == "TXNERR" ||
                     kind == "TERMINATE" || kind == "GETPID" ||
                     std::string_view(message).starts_with("[thrd:GroupCoordinator]");
  constexpr int kSyslogWarning = 4;
  Log(level <= kSyslogWarning && !known ? LogLevel::kWarning : LogLevel::kDebug, "kafka_log",
      message, {{"facility", facility}});
}

// Both kinds of client: how to reach the brokers, and with which credentials.
absl::StatusOr<KafkaConf> MakeCommonConf(const KafkaConfig& kafka) {
  KafkaConf conf(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(conf.get(), ForwardLog);
  // Only ForwardLog() reads it, as a constant.
  rd_kafka_conf_set_opaque(conf.get(), const_cast<PipelineIdentity*>(LogScope::Current()));
  for (const Property& property : kDefaults) {
    WR_RETURN_IF_ERROR(
        SetProperty(conf.get(), std::string(property.name), std::string(property.value)));
  }
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "bootstrap.servers", kafka.bootstrap_servers));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "client.id", kafka.client_id));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "security.protocol", kafka.security_protocol));
  WR_RETURN_IF_ERROR(SetLogin(kafka, conf));
  WR_RETURN_IF_ERROR(SetIfGiven(conf.get(), "ssl.ca.location", kafka.ssl_ca_file));
  WR_RETURN_IF_ERROR(
      SetIfGiven(conf.get(), "ssl.certificate.location", kafka.ssl_certificate_file));
  WR_RETURN_IF_ERROR(SetIfGiven(conf.get(), "ssl.key.location", kafka.ssl_key_file));
  WR_RETURN_IF_ERROR(SetSecret(conf.get(), "ssl.key.password", kafka.ssl_key_password,
                               kafka.ssl_key_password_file));
  return conf;
}

// librdkafka requires that a request can fail before its transaction is aborted, so a longer
// socket.timeout.ms is reduced. The isolation level is that of rd_kafka_query_watermark_offsets():
// the end of the progress topic includes open transactions.
absl::Status SetTransactions(const KafkaConfig& kafka, const std::string& transactional_id,
                             rd_kafka_conf_t* conf) {
  WR_RETURN_IF_ERROR(CheckTransactionSupport(rd_kafka_version()));
  const int64_t timeout =
      std::chrono::ceil<std::chrono::milliseconds>(kafka.transaction_timeout).count();
  WR_RETURN_IF_ERROR(SetProperty(conf, "transactional.id", transactional_id));
  WR_RETURN_IF_ERROR(SetProperty(conf, "transaction.timeout.ms", std::to_string(timeout)));
  if (std::atoll(ConfValue(*conf, "socket.timeout.ms").c_str()) > timeout) {
    WR_RETURN_IF_ERROR(SetProperty(conf, "socket.timeout.ms", std::to_string(timeout)));
  }
  return SetProperty(conf, "isolation.level", "read_uncommitted");
}

// The host of "PROTOCOL://host:port"; protocol and port may be missing.
std::string_view HostOf(std::string_view server) {
  server.remove_prefix(std::min(server.find_first_not_of(' '), server.size()));
  if (const size_t scheme = server.find("://"); scheme != std::string_view::npos) {
    server.remove_prefix(scheme + 3);
  }
  // A colon inside the brackets of an IPv6 address does not begin a port.
  const size_t bracket = server.rfind(']');
  const size_t colon = server.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        (bracket == std::string_view::npos || bracket + 1 == colon);
  const std::string_view host = server.substr(0, has_port ? colon : server.size());
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

// The first server that is not on this host, or "".
std::string_view FirstRemote(std::string_view servers) {
  while (!servers.empty()) {
    const size_t comma = std::min(servers.find(','), servers.size());
    const std::string_view server = servers.substr(0, comma);
    if (!IsLoopback(HostOf(server))) {
      return server;
    }
    servers.remove_prefix(std::min(comma + 1, servers.size()));
  }
  return {};
}

// The setting that allows others to read the traffic or to impersonate a broker, or "".
// Certificate checks that are turned off count as a weakness: they allow another server to take the
// broker's place.
std::string WeaknessOf(const KafkaConfig& kafka) {
  if (kafka.security_protocol != "SSL" && kafka.security_protocol != "SASL_SSL") {
    return fmt::format("security_protocol = \"{}\"", kafka.security_protocol);
  }
  for (const auto& [name, value] : kafka.librdkafka) {
    if ((name == "enable.ssl.certificate.verification" && value != "true") ||
        (name == "ssl.endpoint.identification.algorithm" && value != "https")) {
      return fmt::format("{} = \"{}\"", name, Printable(value, 80));
    }
  }
  return "";
}

// The request to the endpoint contains the client's secret.
absl::Status CheckTokenEndpoint(const KafkaConfig& kafka) {
  if (kafka.oauth.token_endpoint.empty()) {
    return absl::OkStatus();
  }
  const std::optional<HttpUrl> url = ParseHttpUrl(kafka.oauth.token_endpoint);
  if (!url) {
    return Error(ErrorCode::kConfigValue,
                 "[kafka.oauth] token_endpoint: expected an https URL without user and password",
                 "Use client_id and client_secret_file.");
  }
  return url->IsPrivate() || kafka.allow_insecure
             ? absl::OkStatus()
             : Error(
                   ErrorCode::kInsecureTransport,
                   fmt::format("[kafka.oauth] token_endpoint http://{}", Printable(url->host, 80)),
                   "Use the https URL of the token endpoint.");
}

}  // namespace

std::string LibrdkafkaVersion() {
  return rd_kafka_version_str();
}

int LibrdkafkaVersionNumber() {
  return rd_kafka_version();
}

absl::StatusOr<KafkaConf> MakeProducerConf(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                           int64_t max_batch_bytes,
                                           const std::string& transactional_id) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeCommonConf(kafka));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "compression.codec", kafka.compression));
  WR_RETURN_IF_ERROR(
      SetProperty(conf.get(), "message.max.bytes", std::to_string(kafka.max_record_bytes)));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "batch.size", std::to_string(max_batch_bytes)));
  // The relay's own window is the effective limit; librdkafka's queue must not be smaller.
  WR_RETURN_IF_ERROR(
      SetProperty(conf.get(), "queue.buffering.max.messages",
                  std::to_string(std::max<int64_t>(pipeline.max_in_flight_records * 2, 1000))));
  // 2 GiB, so that pipeline.max_in_flight_bytes is the effective limit.
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "queue.buffering.max.kbytes", "2097151"));
  WR_RETURN_IF_ERROR(SetPassThrough(conf.get(), kafka));
  // A request for a topic's metadata would let the brokers create it.
  if (kafka.topics.create != CreateTopics::kNever) {
    WR_RETURN_IF_ERROR(SetProperty(conf.get(), "allow.auto.create.topics", "false"));
  }
  // Last: librdkafka applies the properties in this order, so nothing set before can change them.
  for (const Property& property : kGuarantees) {
    WR_RETURN_IF_ERROR(
        SetProperty(conf.get(), std::string(property.name), std::string(property.value)));
  }
  if (!transactional_id.empty()) {
    WR_RETURN_IF_ERROR(SetTransactions(kafka, transactional_id, conf.get()));
  }
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
  return conf;
}

absl::StatusOr<KafkaConf> MakeConsumerConf(const KafkaConfig& kafka) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeCommonConf(kafka));
  WR_RETURN_IF_ERROR(SetPassThrough(conf.get(), kafka));
  // The group is never joined: partitions are assigned manually. librdkafka requires a name.
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "group.id", "walrelay-reader"));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "enable.auto.commit", "false"));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "auto.offset.reset", "earliest"));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "allow.auto.create.topics", "false"));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "isolation.level", "read_committed"));
  WR_RETURN_IF_ERROR(SetProperty(conf.get(), "enable.partition.eof", "true"));
  return conf;
}

// On failure the configuration stays ours, and is destroyed with `conf`.
absl::StatusOr<KafkaClient> MakeClient(rd_kafka_type_t type, KafkaConf conf) {
  char reason[512];
  KafkaClient client = [&] {
    const TimerSlackOfNewThreads slack;
    return KafkaClient(rd_kafka_new(type, conf.get(), reason, sizeof(reason)));
  }();
  if (client == nullptr) {
    return Error(ErrorCode::kKafkaConfiguration, Printable(reason));
  }
  conf.release();  // rd_kafka_new() owns it after success
  if (conf.tokens.source != nullptr) {
    client.get_deleter().tokens =
        std::make_unique<TokenRefresher>(client.get(), std::move(conf.tokens));
  }
  return client;
}

absl::Status CheckClient(rd_kafka_type_t type, const rd_kafka_conf_t& conf) {
  KafkaConf copy(rd_kafka_conf_dup(&conf));
  // nullptr: the default, which names no broker.
  WR_CHECK(
      rd_kafka_conf_set(copy.get(), "bootstrap.servers", nullptr, nullptr, 0) == RD_KAFKA_CONF_OK,
      "each property has a default");
  // GSSAPI is the default, also of a configuration without a login.
  const std::string protocol = ConfValue(conf, "security.protocol");
  if (protocol.starts_with("sasl_") && ConfValue(conf, "sasl.mechanisms") == "GSSAPI") {
    WR_RETURN_IF_ERROR(
        SetProperty(copy.get(), "security.protocol", protocol.substr(std::strlen("sasl_"))));
  }
  return MakeClient(type, std::move(copy)).status();
}

absl::Status CheckProducer(const KafkaConfig& kafka, const PipelineConfig& pipeline) {
  WR_ASSIGN_OR_RETURN(const KafkaConf conf,
                      MakeProducerConf(kafka, pipeline, kafka.max_batch_bytes,
                                       pipeline.exactly_once() ? "check" : ""));
  return CheckClient(RD_KAFKA_PRODUCER, *conf);
}

// Local brokers need no encryption: the traffic does not leave the host.
absl::Status CheckKafkaTransport(const KafkaConfig& kafka) {
  const std::string weakness = WeaknessOf(kafka);
  const std::string_view remote = FirstRemote(kafka.bootstrap_servers);
  WR_RETURN_IF_ERROR(CheckTokenEndpoint(kafka));
  if (weakness.empty() || remote.empty() || kafka.allow_insecure) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kInsecureTransport,
               fmt::format("[kafka] {} to {}", weakness, Printable(remote, 80)));
}

}  // namespace walrelay

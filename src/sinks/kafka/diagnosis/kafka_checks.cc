#include "sinks/kafka/diagnosis/kafka_checks.h"

#include <fmt/format.h>

#include <chrono>

#include "base/text.h"
#include "config/bootstrap_servers.h"
#include "findings/reachability.h"
#include "sinks/kafka/admin/broker_settings.h"
#include "sinks/kafka/admin/record_writer.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/diagnosis/broker_certificates.h"
#include "sinks/kafka/diagnosis/topic_rule_checks.h"
#include "sinks/kafka/producer/partition_gate.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "sinks/kafka/topics/topic_info.h"
#include "sinks/kafka/topics/topic_rules.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// For one request to the cluster.
constexpr std::chrono::seconds kRequestTimeout{5};
// For one TCP connection. Shorter, because brokers are tried one after the other, and a firewall
// that drops packets uses up the time for each of them.
constexpr std::chrono::seconds kBrokerTimeout{2};
// A template may match thousands of topics; each costs a part of a request for its settings.
constexpr size_t kMaxTopics = 50;

// The common prefix of the topics' names: the template up to its first group.
// A group is "$1" or "\\1".
std::string TopicPrefix(const RouteConfig& route) {
  return route.topic.substr(0, route.topic.find_first_of("$\\"));
}

// Topics whose names are known before the first event: doctor checks that they exist and are
// visible to this user.
std::vector<std::string> NamedTopics(const Config& config) {
  std::vector<std::string> named;
  if (TopicPrefix(config.route).size() == config.route.topic.size()) {
    named.push_back(config.route.topic);
  }
  if (!config.on_error.dead_letter_topic.empty()) {
    named.push_back(config.on_error.dead_letter_topic);
  }
  return named;
}

// The command that changes a topic's setting, for a remedy. The operator fills in BROKER.
std::string Alter(const std::string& topic, std::string_view setting) {
  return fmt::format(
      "kafka-configs.sh --bootstrap-server BROKER --alter --topic {} --add-config {}", topic,
      setting);
}

// A bootstrap address that responds is not enough: records go to the brokers' advertised addresses.
void CheckBrokers(const ClusterInfo& info, Findings& out) {
  for (const std::string& broker : info.brokers) {
    const auto start = std::chrono::steady_clock::now();
    const auto reached = Reach(broker, kBrokerTimeout);
    const auto took = std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - start);
    if (reached.ok()) {
      out.Good("kafka.brokers", fmt::format("broker {} is reachable, connected in {}",
                                            Printable(broker, 200), FormatDuration(took)));
    } else {
      out.Problem(
          "kafka.brokers",
          Error(ErrorCode::kKafkaUnreachable,
                fmt::format("broker {} (advertised address): {}", Printable(broker, 200),
                            std::string(reached.status().message())),
                "Open the network to it, or fix the broker's advertised.listeners: clients connect "
                "to that address, not to kafka.bootstrap_servers."));
    }
  }
}

// With acks = all, an acknowledged record is on all replicas in sync, of which there may be only
// one unless min.insync.replicas says otherwise.
void CheckReplicas(const TopicInfo& topic, size_t brokers, Findings& out) {
  // A user without DESCRIBE_CONFIGS cannot read min.insync.replicas. The comparison with an absent
  // value is false, so no problem is reported without evidence.
  if (topic.leaderless > 0 || topic.in_sync < topic.min_in_sync) {
    out.Problem(
        "kafka.topics",
        Error(ErrorCode::kKafkaStalled,
              topic.leaderless > 0
                  ? fmt::format("{} of {} partitions of topic {} have no leader", topic.leaderless,
                                topic.partitions, topic.name)
                  : fmt::format("topic {} has {} replicas in sync, min.insync.replicas is {}: it "
                                "accepts no records",
                                topic.name, topic.in_sync, *topic.min_in_sync),
              "Restore the brokers: kafka-topics.sh --bootstrap-server BROKER --describe "
              "--under-min-isr-partitions"));
    return;
  }
  if (topic.replicas == 1 && brokers > 1) {
    out.Warn("kafka.topics",
             fmt::format("topic {} has one replica: acknowledged events are lost with its broker",
                         topic.name),
             "Raise its replication factor: kafka-reassign-partitions.sh");
  } else if (topic.min_in_sync && topic.replicas > 1 && *topic.min_in_sync == 1) {
    out.Warn(
        "kafka.topics",
        fmt::format("topic {} has min.insync.replicas = 1: an acknowledged event may be on one "
                    "broker only",
                    topic.name),
        Alter(topic.name, "min.insync.replicas=2"));
  } else if (topic.min_in_sync && topic.replicas > 1 && *topic.min_in_sync >= topic.replicas) {
    out.Warn(
        "kafka.topics",
        fmt::format("topic {} has {} replicas and min.insync.replicas = {}: it rejects records "
                    "when one broker is unavailable",
                    topic.name, topic.replicas, *topic.min_in_sync),
        Alter(topic.name, fmt::format("min.insync.replicas={}", topic.replicas - 1)));
  }
}

// A missing topic is only a warning, because brokers with auto.create.topics.enable create it for
// the first event. A topic that this user may not see is a problem: its events would be refused.
void CheckNamedTopics(const std::vector<std::string>& names, const ClusterInfo& info,
                      const TopicsConfig& topics, Findings& out) {
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::Status& status = info.topics[i];
    if (HasCode(status, ErrorCode::kTopicUnknown) && topics.create == CreateTopics::kCreate) {
      out.Good("kafka.named_topics",
               fmt::format("topic {} does not exist; walrelay creates it", names[i]));
    } else if (HasCode(status, ErrorCode::kTopicUnknown) && topics.create == CreateTopics::kCheck) {
      out.Warn("kafka.named_topics", fmt::format("topic {} does not exist", names[i]),
               CreateTopicCommand(names[i], RuleFor(topics, names[i])));
    } else if (HasCode(status, ErrorCode::kTopicUnknown)) {
      out.Warn("kafka.named_topics", fmt::format("topic {} does not exist", names[i]),
               "Create it, unless the brokers create topics on demand.");
    } else if (!status.ok()) {
      out.Problem("kafka.named_topics", status);
    }
  }
}

// InitProducerId is the first request of an idempotent producer. It appends no record, so the check
// can run at any time.
void CheckProducerId(const KafkaConfig& kafka, const PipelineConfig& pipeline, Findings& out) {
  if (const absl::Status status = RequestProducerId(kafka, pipeline, kRequestTimeout);
      !status.ok()) {
    out.Problem("kafka.producer_id", status);
    return;
  }
  out.Good("kafka.producer_id", "the brokers let this user produce idempotently");
}

// A name that events would use: whether a topic may be created can depend on its name. For a
// template, the name of an example topic with the same prefix: ACLs with --resource-pattern-type
// prefixed and policies for names then give the same answer as for an event's topic.
std::string ExampleTopic(const RouteConfig& route) {
  const std::string prefix = TopicPrefix(route);
  return prefix.size() == route.topic.size() ? prefix : prefix + "walrelay-doctor";
}

// Topics that the brokers create on demand.
void CheckCreationOnDemand(const Config& config, const BrokerSettings& settings, size_t brokers,
                           Findings& out) {
  const std::string names[] = {ExampleTopic(config.route)};
  const auto answers = CheckTopicCreation(config.kafka, names, kRequestTimeout);
  if (!answers.ok()) {
    out.Problem("kafka.topic_creation", answers.status());
    return;
  }
  const bool answered = answers->size() == 1;
  const absl::Status refusal = answered ? answers->front().status : absl::OkStatus();
  // Known to be off. An absent value means that this user may not read the brokers' settings, and
  // says nothing about them.
  if (settings.creates_topics == false) {
    out.Good("kafka.topic_creation",
             "the brokers do not create topics on demand: create each before its first event");
    return;
  }
  if (!refusal.ok()) {
    out.Warn("kafka.topic_creation",
             fmt::format("a missing topic could not be created{}: {}",
                         settings.creates_topics ? " on demand" : "", MessageOf(refusal)),
             HasCode(refusal, ErrorCode::kTopicDenied)
                 ? "Create topics before their first event, or kafka-acls.sh --bootstrap-server "
                   "BROKER --add --allow-principal User:NAME --operation Create --topic PREFIX "
                   "--resource-pattern-type prefixed"
                 : "Create topics before their first event, or fix the brokers' defaults.");
    return;
  }
  if (settings.creates_topics && settings.default_replicas == 1 && brokers > 1) {
    out.Warn("kafka.topic_creation",
             "topics that are created on demand have one replica (default.replication.factor): "
             "acknowledged events are lost with its broker",
             "default.replication.factor=3 and min.insync.replicas=2 in the brokers' settings, or "
             "create topics before their first event.");
  } else if (answered) {
    out.Good("kafka.topic_creation", settings.creates_topics
                                         ? "the brokers create topics on demand, also for this user"
                                         : "this user may create topics");
  }
}

void CheckCreation(const Config& config, const BrokerSettings& settings, size_t brokers,
                   Findings& out) {
  switch (config.kafka.topics.create) {
    case CreateTopics::kNever:
      return CheckCreationOnDemand(config, settings, brokers, out);
    case CreateTopics::kCheck:
      return out.Good("kafka.topic_creation",
                      "no topic is created on demand: create each before its first event");
    case CreateTopics::kCreate:
      return CheckRulesCreateTopics(config.kafka, config.on_error, ExampleTopic(config.route),
                                    kRequestTimeout, out);
  }
}

// From a producer that it has forgotten, a leader accepts a batch whose predecessor it rejected.
// The relay prevents that with the partition gate, which works by time.
void CheckProducerLifetime(const BrokerSettings& settings, Findings& out) {
  // Twice the silence after which the gate sends the first record of a partition alone, as a
  // margin.
  constexpr Micros kMin = 2 * PartitionGate::kSilence;
  if (!settings.producer_id_lifetime) {
    out.Warn("kafka.producer_id_lifetime",
             "this user may not read the brokers' settings: producer.id.expiration.ms is unknown",
             "Make sure that it is at least two hours (the default is a day), or kafka-acls.sh "
             "--bootstrap-server BROKER --add --allow-principal User:NAME --operation "
             "DescribeConfigs --cluster");
    return;
  }
  const std::string lifetime = FormatDuration(*settings.producer_id_lifetime);
  if (*settings.producer_id_lifetime < kMin) {
    out.Warn("kafka.producer_id_lifetime",
             fmt::format("brokers forget a producer that was silent for {} "
                         "(producer.id.expiration.ms); expected at least two hours",
                         lifetime),
             "kafka-configs.sh --bootstrap-server BROKER --alter --entity-type brokers "
             "--entity-default --add-config producer.id.expiration.ms=86400000");
    return;
  }
  out.Good("kafka.producer_id_lifetime",
           fmt::format("brokers remember a silent producer for {}", lifetime));
}

void CheckSettings(const Config& config, size_t brokers, Findings& out) {
  const auto settings = ReadBrokerSettings(config.kafka, kRequestTimeout);
  if (!settings.ok()) {
    out.Problem("kafka.topic_creation", settings.status());
    return;
  }
  CheckProducerLifetime(*settings, out);
  CheckCreation(config, *settings, brokers, out);
}

std::vector<TopicInfo> CheckTopics(const Config& config, const ClusterInfo& cluster,
                                   Findings& out) {
  const std::string prefix = TopicPrefix(config.route);
  const std::string& dead_letters = config.on_error.dead_letter_topic;
  // A template that begins with a group has no prefix. Every topic of the cluster would match it,
  // also those of other applications; then only the dead-letter topic is checked.
  const auto wanted = [&](std::string_view name) {
    return (!prefix.empty() && name.starts_with(prefix)) || name == dead_letters;
  };
  const auto topics = ReadTopicInfo(config.kafka, wanted, kMaxTopics, kRequestTimeout);
  if (!topics.ok()) {
    out.Problem("kafka.topics", topics.status());
    return {};
  }
  for (const TopicInfo& topic : *topics) {
    CheckReplicas(topic, cluster.brokers.size(), out);
    if (topic.max_message_bytes && *topic.max_message_bytes < config.kafka.max_record_bytes) {
      out.Warn(
          "kafka.max_message_bytes",
          fmt::format("topic {} accepts records up to {} bytes, kafka.max_record_bytes is {}: a "
                      "larger record blocks publishing",
                      topic.name, *topic.max_message_bytes, config.kafka.max_record_bytes),
          Alter(topic.name,
                // The limit of a topic applies to the batch, which has an overhead around its
                // records.
                fmt::format("max.message.bytes={}", config.kafka.max_record_bytes + 1000)));
    }
  }
  CheckTopicRules(config.kafka.topics, *topics, out);
  out.Good("kafka.topics",
           fmt::format("{} event topic{} exist{}{}", topics->size(), topics->size() == 1 ? "" : "s",
                       topics->size() == 1 ? "s" : "",
                       topics->size() == kMaxTopics ? " (the most that doctor checks)" : ""));
  return *topics;
}

}  // namespace

// Without an answer of the cluster all further requests would only run into their timeouts, one
// after the other.
std::optional<std::vector<TopicInfo>> CheckKafka(const Config& config, Depth depth, Findings& out) {
  const std::vector<std::string> named = NamedTopics(config);
  const auto info = ReadClusterInfo(config.kafka, named, kRequestTimeout);
  if (!info.ok()) {
    out.Problem("kafka.cluster", info.status());
    // librdkafka reports an expired certificate only as a failed verification.
    CheckBrokerCertificates(config.kafka, BootstrapAddresses(config.kafka.bootstrap_servers), out);
    return std::nullopt;
  }
  out.Good("kafka.cluster",
           fmt::format("Kafka: {} broker{}, cluster {}", info->brokers.size(),
                       info->brokers.size() == 1 ? "" : "s",
                       info->cluster_id.empty() ? "without an id" : info->cluster_id));
  CheckNamedTopics(named, *info, config.kafka.topics, out);
  CheckProducerId(config.kafka, config.pipeline, out);
  std::vector<TopicInfo> topics;
  if (depth == Depth::kAll) {
    CheckBrokers(*info, out);
    CheckBrokerCertificates(config.kafka, info->brokers, out);
    topics = CheckTopics(config, *info, out);
    CheckSettings(config, info->brokers.size(), out);
  }
  return topics;
}

}  // namespace walrelay

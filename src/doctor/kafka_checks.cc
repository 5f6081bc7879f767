#include "doctor/kafka_checks.h"

#include <fmt/format.h>

#include "base/text.h"
#include "doctor/reachability.h"
#include "kafka/cluster_facts.h"
#include "kafka/topic_facts.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kTimeout{5};
constexpr std::chrono::seconds kBrokerTimeout{2};
constexpr size_t kMostTopics = 50;

// What the topics' names begin with: the template up to its first group.
std::string TopicPrefix(const RouteConfig& route) {
  return route.topic.substr(0, route.topic.find_first_of("$\\"));
}

std::string Alter(const std::string& topic, std::string_view setting) {
  return fmt::format(
      "kafka-configs.sh --bootstrap-server BROKER --alter --topic {} --add-config {}", topic,
      setting);
}

// A bootstrap address that answers is not enough: records go to where the brokers say they are.
void CheckBrokers(const ClusterFacts& facts, Findings& out) {
  for (const std::string& broker : facts.brokers) {
    const absl::Status reached = Reach(broker, kBrokerTimeout);
    if (reached.ok()) {
      out.Good("kafka.brokers", fmt::format("broker {} can be reached", Printable(broker, 200)));
    } else {
      out.Problem(
          "kafka.brokers",
          Error(ErrorCode::kKafkaUnreachable,
                fmt::format("broker {}, as the cluster names it: {}", Printable(broker, 200),
                            std::string(reached.message())),
                "Open the network to it, or mend the broker's advertised.listeners: clients "
                "connect to what stands there, not to kafka.bootstrap_servers."));
    }
  }
}

void CheckReplicas(const TopicFacts& topic, size_t brokers, Findings& out) {
  if (topic.leaderless > 0 || topic.in_sync < topic.min_in_sync) {
    out.Problem(
        "kafka.topics",
        Error(ErrorCode::kKafkaStalled,
              topic.leaderless > 0
                  ? fmt::format("{} of {} partitions of topic {} have no leader", topic.leaderless,
                                topic.partitions, topic.name)
                  : fmt::format("topic {} has {} replicas in sync and wants {}: it takes "
                                "nothing",
                                topic.name, topic.in_sync, *topic.min_in_sync),
              "Bring the brokers back: kafka-topics.sh --bootstrap-server BROKER --describe "
              "--under-min-isr-partitions"));
    return;
  }
  if (topic.replicas == 1 && brokers > 1) {
    out.Warn(
        "kafka.topics",
        fmt::format("topic {} has one replica: a broker that is lost takes acknowledged events "
                    "with it",
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
    out.Warn("kafka.topics",
             fmt::format("topic {} has {} replicas and min.insync.replicas = {}: it stops with the "
                         "first broker that is away",
                         topic.name, topic.replicas, *topic.min_in_sync),
             Alter(topic.name, fmt::format("min.insync.replicas={}", topic.replicas - 1)));
  }
}

void CheckTopics(const Config& config, const ClusterFacts& cluster, Findings& out) {
  const std::string prefix = TopicPrefix(config.route);
  const std::string& dead_letters = config.on_error.dead_letter_topic;
  const auto wanted = [&](std::string_view name) {
    return (!prefix.empty() && name.starts_with(prefix)) || name == dead_letters;
  };
  const auto topics = ReadTopicFacts(config.kafka, wanted, kMostTopics, kTimeout);
  if (!topics.ok()) {
    out.Problem("kafka.topics", topics.status());
    return;
  }
  for (const TopicFacts& topic : *topics) {
    CheckReplicas(topic, cluster.brokers.size(), out);
    if (topic.max_message_bytes && *topic.max_message_bytes < config.kafka.max_record_bytes) {
      out.Warn("kafka.max_message_bytes",
               fmt::format("topic {} takes records up to {} bytes, kafka.max_record_bytes is {}: a "
                           "larger one blocks the line",
                           topic.name, *topic.max_message_bytes, config.kafka.max_record_bytes),
               Alter(topic.name,
                     fmt::format("max.message.bytes={}", config.kafka.max_record_bytes + 1000)));
    }
  }
  out.Good("kafka.topics",
           fmt::format("{} topic{} of the events exist{}{}", topics->size(),
                       topics->size() == 1 ? "" : "s", topics->size() == 1 ? "s" : "",
                       topics->size() == kMostTopics ? " at least; these were looked at" : ""));
}

}  // namespace

void CheckKafka(const Config& config, Depth depth, Findings& out) {
  const std::string& dead_letters = config.on_error.dead_letter_topic;
  const auto facts = ReadClusterFacts(config.kafka, dead_letters, kTimeout);
  if (!facts.ok()) {
    out.Problem("kafka.cluster", facts.status());
    return;
  }
  out.Good("kafka.cluster",
           fmt::format("Kafka: {} broker{}, cluster {}", facts->brokers.size(),
                       facts->brokers.size() == 1 ? "" : "s",
                       facts->cluster_id.empty() ? "without an id" : facts->cluster_id));
  if (!dead_letters.empty() && !facts->topic_exists) {
    out.Warn("kafka.dead_letter_topic",
             fmt::format("the dead-letter topic {} does not exist", dead_letters),
             "Create it, unless the brokers create topics on demand.");
  }
  if (depth == Depth::kAll) {
    CheckBrokers(*facts, out);
    CheckTopics(config, *facts, out);
  }
}

}  // namespace walrelay

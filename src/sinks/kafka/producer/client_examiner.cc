#include "sinks/kafka/producer/client_examiner.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/topics/partition_range.h"
#include "sinks/kafka/topics/topic_replicas.h"
#include "stream/stored_events.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds kLongestExamination{10};
constexpr std::chrono::seconds kLongestState{2};

absl::Status Lacking(const std::string& topic, int32_t partition, std::string_view what) {
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("topic {}, partition {} {}", Printable(topic, 80), partition, what));
}

// A partition that is not in the answer has no leader, as far as is known.
absl::Status CheckReplicas(rd_kafka_t* client, const std::string& topic, int32_t number,
                           const struct rd_kafka_metadata& metadata, SteadyTime deadline) {
  const auto partitions = PartitionsIn(metadata);
  const auto found = std::find_if(partitions.begin(), partitions.end(),
                                  [number](const auto& each) { return each.id == number; });
  if (found == partitions.end() || found->leader < 0) {
    return Lacking(topic, number, "has no leader");
  }
  if (IsStoredSafely(found->isr_cnt, found->replica_cnt, std::nullopt)) {
    return absl::OkStatus();
  }
  const auto least = ReadMinInSync(client, topic, deadline);
  if (least && found->isr_cnt >= *least) {
    return absl::OkStatus();
  }
  return Lacking(
      topic, number,
      fmt::format("has {} in-sync replicas of {}; min.insync.replicas is {}", found->isr_cnt,
                  found->replica_cnt, least ? std::to_string(*least) : "unknown"));
}

// A commit, or a progress record, waits for no partition that is known here.
absl::Status AskAnyBroker(rd_kafka_t* client, SteadyTime deadline) {
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, /*all_topics=*/0, nullptr, &found, MillisBefore(deadline));
  const KafkaMetadata metadata(found);
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : LastClientError(client, error);
}

absl::Status CheckTopic(rd_kafka_t* client, const std::string& topic,
                        const std::vector<int32_t>& partitions, SteadyTime deadline,
                        rd_kafka_topic_partition_list_t& led) {
  WR_ASSIGN_OR_RETURN(const KafkaMetadata metadata, FetchTopic(client, topic, deadline));
  for (const int32_t partition : partitions) {
    if (partition != AwaitedPartition::kMetadata) {
      WR_RETURN_IF_ERROR(CheckReplicas(client, topic, partition, *metadata, deadline));
      rd_kafka_topic_partition_list_add(&led, topic.c_str(), partition);
    }
  }
  return absl::OkStatus();
}

std::string Dump(rd_kafka_t* client) {
  char* text = nullptr;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) {
    return "";
  }
  rd_kafka_dump(stream, client);
  std::fclose(stream);
  const std::string dump(text, size);
  std::free(text);
  return dump;
}

// Behind `name`, up to the next space; "" if the line does not have it.
std::string_view ValueIn(std::string_view line, std::string_view name) {
  const size_t begin = line.find(name);
  if (begin == std::string_view::npos) {
    return "";
  }
  line.remove_prefix(begin + name.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.substr(0, line.find_first_of(" \n"));
}

}  // namespace

absl::Status AskLeaders(KafkaConf conf, const std::vector<AwaitedPartition>& partitions,
                        SteadyTime deadline) {
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  if (partitions.empty()) {
    return AskAnyBroker(client.get(), deadline);
  }
  std::map<std::string, std::vector<int32_t>> by_topic;
  for (const AwaitedPartition& awaited : partitions) {
    by_topic[awaited.topic].push_back(awaited.partition);
  }
  const KafkaPartitionList led(
      rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const auto& [topic, numbers] : by_topic) {
    WR_RETURN_IF_ERROR(CheckTopic(client.get(), topic, numbers, deadline, *led));
  }
  if (led->cnt == 0) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(
      const KafkaPartitionList ends,
      QueryOffsets(client.get(), *led, RD_KAFKA_OFFSET_END, MillisBefore(deadline)));
  for (const auto& [topic, numbers] : by_topic) {
    for (const int32_t number : numbers) {
      if (number != AwaitedPartition::kMetadata && OffsetOf(*ends, topic, number) < 0) {
        return Lacking(topic, number, "has a leader that does not answer");
      }
    }
  }
  return absl::OkStatus();
}

// The dump is made for people. Lines that are not recognised are omitted.
std::string SummaryOfDump(std::string_view dump) {
  std::string summary;
  std::string_view partition;
  std::string_view queued;
  const auto add = [&summary](const std::string& part) {
    if (summary.size() + part.size() + 2 <= kMostOfAState) {
      summary += (summary.empty() ? "" : "; ") + part;
    }
  };
  while (!dump.empty()) {
    const size_t end = std::min(dump.find('\n'), dump.size());
    std::string_view line = dump.substr(0, end);
    dump.remove_prefix(std::min(end + 1, dump.size()));
    if (line.starts_with(" topics:") || line.starts_with("Metadata")) {
      break;  // the partitions are repeated there
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("rd_kafka_broker_t ")) {
      const size_t name = line.find(": ");
      line.remove_prefix(name == std::string_view::npos ? 0 : name + 2);
      add(fmt::format("broker {}", Printable(line, 120)));
    } else if (line.starts_with("outbuf_cnt:")) {
      add(Printable(line, 60));
    } else if (const size_t broker = line.find("] broker "); broker != std::string_view::npos) {
      partition = line;
    } else if (line.starts_with("msgq:")) {
      queued = ValueIn(line, "msgq:");
    } else if (line.starts_with("xmit_msgq:")) {
      const std::string_view sending = ValueIn(line, "xmit_msgq:");
      if (queued != "0" || sending != "0") {
        add(fmt::format("{}: {} queued, {} to be sent", Printable(partition, 160), queued,
                        sending));
      }
    }
  }
  return summary;
}

std::string DescribeState(rd_kafka_t* client) {
  return SummaryOfDump(Dump(client));
}

ClientExaminer::ClientExaminer(std::function<std::string()> describe, int wakeup_fd,
                               ConfFactory make_conf)
    : describe_(std::move(describe)), wakeup_fd_(wakeup_fd), make_conf_(std::move(make_conf)) {}

ClientExaminer::~ClientExaminer() {
  for (std::thread* const thread : {&thread_, &state_thread_}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

void ClientExaminer::Begin(std::vector<AwaitedPartition> partitions) {
  if (stopped_ || begun_) {
    return;
  }
  if (thread_.joinable()) {
    thread_.join();  // its result was taken: it only ends
  }
  begun_ = true;
  BeginState();
  thread_ =
      std::thread(InLogScope([this, partitions = std::move(partitions)] { Run(partitions); }));
}

std::optional<Examination> ClientExaminer::Take() {
  if (!begun_) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  std::optional<Examination> result = std::exchange(result_, std::nullopt);
  begun_ = !result;
  return result;
}

void ClientExaminer::BeginState() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(describing_, true)) {
      return;
    }
  }
  if (state_thread_.joinable()) {
    state_thread_.join();  // it has ended
  }
  state_thread_ = std::thread(InLogScope([this] {
    std::string state = describe_();
    const std::lock_guard lock(mutex_);
    state_ = std::move(state);
    describing_ = false;
    described_.notify_one();
  }));
}

// A state that cannot be read is evidence as well: the client holds its locks.
void ClientExaminer::Run(const std::vector<AwaitedPartition>& partitions) {
  auto conf = make_conf_();
  Examination found{
      .brokers = conf.ok() ? AskLeaders(*std::move(conf), partitions,
                                        std::chrono::steady_clock::now() + kLongestExamination)
                           : conf.status()};
  {
    std::unique_lock lock(mutex_);
    const bool described =
        described_.wait_for(lock, kLongestState, [this] { return !describing_; });
    found.state = described ? state_ : "cannot be read: the client does not answer";
    result_ = std::move(found);
  }
  eventfd_write(wakeup_fd_, 1);
}

}  // namespace walrelay

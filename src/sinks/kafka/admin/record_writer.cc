#include "sinks/kafka/admin/record_writer.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/kafka_producer.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Where brokers create topics on demand, a requested topic exists shortly afterwards.
constexpr std::chrono::seconds kUntilMade{3};

// 0 after the deadline. Limited to 50 ms, because not every awaited condition wakes the poll.
int MillisUntil(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 50));
}

// librdkafka exposes the state of the idempotent producer only in its statistics.
bool HasProducerId(rd_kafka_event_t* event) {
  const std::string_view statistics = rd_kafka_event_stats(event);
  const size_t at = statistics.find("\"idemp_state\":");
  return at != std::string_view::npos && statistics.substr(at, 40).find("\"Assigned\"") < 40;
}

absl::Status FatalError(rd_kafka_t* client) {
  char reason[512];
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(client, reason, sizeof(reason));
  const std::string message = fmt::format("{}: {}", rd_kafka_err2name(error), Printable(reason));
  if (error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
    return Error(
        ErrorCode::kTopicDenied,
        "the user is not allowed to obtain a producer id, so it may not write to any topic: " +
            message,
        "kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME "
        "--operation Write --operation Describe --topic PREFIX --resource-pattern-type "
        "prefixed  (brokers before 2.8: --operation IdempotentWrite --cluster as well)");
  }
  return Error(ErrorCode::kProducerFailed, message);
}

// The listener for a single record.
class OneReport final : public DeliveryListener {
 public:
  void OnDelivered(const Delivery& delivery) override {
    outcome = WrittenRecord{
        .partition = delivery.partition, .offset = delivery.offset, .took = delivery.latency};
  }
  void OnFailed(const DeliveryFailure& failure) override {
    outcome = failure.error;
    purged = failure.purged;
  }

  std::optional<absl::StatusOr<WrittenRecord>> outcome;
  bool purged = false;
};

// The reason why no acknowledgement has arrived.
absl::Status NotInTime(const Sink& producer, std::string_view topic, Micros timeout) {
  const absl::Status trouble = producer.health().trouble;
  return !trouble.ok()
             ? trouble
             : Error(ErrorCode::kKafkaStalled, fmt::format("topic {}: no acknowledgement within {}",
                                                           topic, FormatDuration(timeout)));
}

void AwaitReports(const Sink& producer, SteadyTime deadline) {
  pollfd wakeup{producer.poll_fd(), POLLIN, 0};
  (void)::poll(&wakeup, 1, MillisUntil(deadline));
}

}  // namespace

// A client of its own, because statistics are an event that the relay's producer does not request.
absl::Status RequestProducerId(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                               Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(kafka, pipeline, kafka.max_batch_bytes));
  char reason[512];
  if (rd_kafka_conf_set(conf.get(), "statistics.interval.ms", "20", reason, sizeof(reason)) !=
      RD_KAFKA_CONF_OK) {
    return Error(ErrorCode::kKafkaConfiguration, Printable(reason));
  }
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_ERROR);
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  const KafkaQueue queue(rd_kafka_queue_get_main(client.get()));
  absl::Status trouble = Error(ErrorCode::kKafkaUnreachable,
                               fmt::format("no producer id within {}: brokers answer, but the "
                                           "controller or transaction coordinator does not",
                                           FormatDuration(timeout)));
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), MillisUntil(deadline)));
    const rd_kafka_event_type_t type =
        event != nullptr ? rd_kafka_event_type(event.get()) : RD_KAFKA_EVENT_NONE;
    if (type == RD_KAFKA_EVENT_STATS) {
      if (HasProducerId(event.get())) {
        return absl::OkStatus();
      }
    } else if (type != RD_KAFKA_EVENT_ERROR) {
      continue;  // for example a request for a token, which the TokenRefresher does not need
    } else if (rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__FATAL ||
               rd_kafka_event_error_is_fatal(event.get()) != 0) {
      return FatalError(client.get());
    } else if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* detail = rd_kafka_event_error_string(event.get());
      trouble = ClientError(rd_kafka_event_error(event.get()), detail != nullptr ? detail : "");
    }
  }
  return trouble;
}

// In this order: an id, then metadata, then the record; each step has its own error, and an earlier
// one explains more.
absl::StatusOr<WrittenRecord> WriteRecord(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                          const Record& record, Micros timeout) {
  // Its error is clearer than the error of the record's delivery would be.
  WR_RETURN_IF_ERROR(RequestProducerId(kafka, pipeline, timeout));
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(kafka, pipeline, kafka.max_batch_bytes));
  WR_ASSIGN_OR_RETURN(const std::unique_ptr<Sink> producer,
                      KafkaProducer::Create(std::move(conf), {}));
  const SteadyTime start = std::chrono::steady_clock::now();
  OneReport report;
  bool accepted = false;
  bool given_up = false;
  while (!report.outcome) {
    if (!producer->FatalError().ok()) {
      if (!accepted) {
        return producer->FatalError();
      }
      // A refused record makes the producer fail shortly before its report carries the cause.
      if (!std::exchange(given_up, true)) {
        producer->AbandonUndelivered();
      }
    } else if (!accepted) {
      const auto produced = producer->Produce(record, {1, 1});
      const bool wait_for_topic = HasCode(produced.status(), ErrorCode::kTopicUnknown) &&
                                  std::chrono::steady_clock::now() < start + kUntilMade;
      if (!produced.ok() && !wait_for_topic) {
        return produced.status();
      }
      accepted = produced.ok() && *produced == Wait::kNone;
    }
    if (std::chrono::steady_clock::now() >= start + timeout) {
      WR_RETURN_IF_ERROR(producer->FatalError());
      return NotInTime(*producer, record.topic, timeout);
    }
    AwaitReports(*producer, start + timeout);
    producer->Poll(report);
  }
  if (report.purged) {
    WR_RETURN_IF_ERROR(producer->FatalError());
  }
  return *std::move(report.outcome);
}

absl::StatusOr<WrittenRecord> WriteProbe(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                         const std::string& topic, Micros timeout) {
  const Header header{"walrelay.write_probe", Version()};
  // No value: consumers treat it as a tombstone of a key that no event has.
  return WriteRecord(kafka, pipeline,
                     {.topic = topic, .key = "walrelay-doctor", .headers = {&header, 1}}, timeout);
}

}  // namespace walrelay

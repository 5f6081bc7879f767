// latency: from the call of an INSERT to the moment a consumer has the record.
//
// Writers commit one-row transactions at a fixed rate; each payload carries the time of its call by
// this machine's monotonic clock. A consumer in the same process takes one record a poll and
// subtracts. Times are those of the schedule, not of the moment when a late writer got to it, so
// that a stall is counted for every event that it held up (no coordinated omission).
//
//   latency --dsn DSN --kafka HOSTS --topic TOPIC --rate 1000 --seconds 20 [--warmup 5] [--payload
//   300]
//
// Prints one line of JSON. This is a tool of the benchmark and shares no code with the relay.

#include <fmt/format.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string dsn;
  std::string kafka;
  std::string topic = "outbox.event.order";
  double rate = 1000;
  double seconds = 20;
  double warmup = 5;
  size_t payload = 300;
  int writers = 4;
};

[[noreturn]] void Fail(const std::string& why) {
  fmt::print(stderr, "latency: {}\n", why);
  std::exit(1);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--dsn") {
      options.dsn = value;
    } else if (name == "--kafka") {
      options.kafka = value;
    } else if (name == "--topic") {
      options.topic = value;
    } else if (name == "--rate") {
      options.rate = std::stod(value);
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--warmup") {
      options.warmup = std::stod(value);
    } else if (name == "--payload") {
      options.payload = std::stoul(value);
    } else if (name == "--writers") {
      options.writers = std::stoi(value);
    } else {
      Fail(fmt::format("unknown option {}", name));
    }
  }
  return options;
}

int64_t Nanos(Clock::time_point time) {
  return time.time_since_epoch().count();
}

// One of the writers: every `writers`-th event of the schedule.
void Write(const Options& options, int writer, Clock::time_point start,
           std::atomic<int64_t>& written) {
  PGconn* connection = PQconnectdb(options.dsn.c_str());
  if (PQstatus(connection) != CONNECTION_OK) {
    Fail(PQerrorMessage(connection));
  }
  PQclear(PQprepare(connection, "insert",
                    "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
                    "VALUES ('order', $1, 'OrderPlaced', $2)",
                    2, nullptr));
  const auto total = static_cast<int64_t>(options.rate * (options.seconds + options.warmup));
  for (int64_t n = writer; n < total; n += options.writers) {
    const auto due = start + std::chrono::nanoseconds(
                                 static_cast<int64_t>(static_cast<double>(n) / options.rate * 1e9));
    std::this_thread::sleep_until(due);
    const std::string key = fmt::format("order-{}", n % 997);
    std::string payload = fmt::format(R"({{"at": "{}", "n": {}, "pad": ")", Nanos(due), n);
    payload +=
        std::string(options.payload > payload.size() + 2 ? options.payload - payload.size() - 2 : 0,
                    'x') +
        "\"}";
    const char* values[] = {key.c_str(), payload.c_str()};
    PGresult* result = PQexecPrepared(connection, "insert", 2, values, nullptr, nullptr, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
      Fail(PQerrorMessage(connection));
    }
    PQclear(result);
    ++written;
  }
  PQfinish(connection);
}

class Consumer {
 public:
  explicit Consumer(const Options& options) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    const std::pair<const char*, std::string> settings[] = {{"bootstrap.servers", options.kafka},
                                                            {"group.id", "latency"},
                                                            {"fetch.wait.max.ms", "500"},
                                                            {"fetch.min.bytes", "1"},
                                                            {"socket.nagle.disable", "true"}};
    char reason[256];
    for (const auto& [name, value] : settings) {
      if (rd_kafka_conf_set(conf, name, value.c_str(), reason, sizeof(reason)) !=
          RD_KAFKA_CONF_OK) {
        Fail(reason);
      }
    }
    client_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
    if (client_ == nullptr) {
      Fail(reason);
    }
    rd_kafka_poll_set_consumer(client_);
    AssignEnd(options.topic);
  }

  // The time that the record's payload names, and that of its arrival; false when none came.
  bool Next(int64_t& called, int64_t& arrived) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(client_, 100);
    if (message == nullptr) {
      return false;
    }
    arrived = Nanos(Clock::now());
    const bool good = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (good) {
      const std::string payload(static_cast<const char*>(message->payload), message->len);
      const size_t at = payload.find("\"at\": \"");
      called = at == std::string::npos ? 0 : std::stoll(payload.substr(at + 7));
    }
    rd_kafka_message_destroy(message);
    return good && called != 0;
  }

 private:
  void AssignEnd(const std::string& topic) {
    const struct rd_kafka_metadata* metadata = nullptr;
    rd_kafka_topic_t* handle = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
    if (rd_kafka_metadata(client_, 0, handle, &metadata, 10'000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      Fail("no metadata");
    }
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(8);
    for (int partition = 0; partition < metadata->topics[0].partition_cnt; ++partition) {
      int64_t low = 0;
      int64_t high = 0;
      rd_kafka_query_watermark_offsets(client_, topic.c_str(), partition, &low, &high, 10'000);
      rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = high;
    }
    rd_kafka_assign(client_, list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
  }

  rd_kafka_t* client_;
};

double Percentile(const std::vector<double>& sorted, double percent) {
  const auto last = sorted.size() - 1;
  return sorted[std::min(last,
                         static_cast<size_t>(static_cast<double>(sorted.size()) * percent / 100))];
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  Consumer consumer(options);
  std::atomic<int64_t> written{0};
  const auto start = Clock::now() + std::chrono::milliseconds(300);
  const int64_t measured_from = Nanos(start) + static_cast<int64_t>(options.warmup * 1e9);
  const auto total = static_cast<int64_t>(options.rate * (options.seconds + options.warmup));
  std::vector<std::thread> writers;
  for (int writer = 0; writer < options.writers; ++writer) {
    writers.emplace_back(Write, std::cref(options), writer, start, std::ref(written));
  }
  std::vector<double> millis;
  const auto give_up =
      start + std::chrono::seconds(static_cast<int>(options.seconds + options.warmup) + 60);
  for (int64_t received = 0; received < total && Clock::now() < give_up;) {
    int64_t called = 0;
    int64_t arrived = 0;
    if (!consumer.Next(called, arrived)) {
      continue;
    }
    ++received;
    if (called >= measured_from) {
      millis.push_back(static_cast<double>(arrived - called) / 1e6);
    }
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  if (millis.empty()) {
    Fail("nothing arrived");
  }
  std::sort(millis.begin(), millis.end());
  fmt::print(
      R"({{"events": {}, "p50": {:.3f}, "p90": {:.3f}, "p99": {:.3f}, "p999": {:.3f}, "max": {:.3f}}})"
      "\n",
      millis.size(), Percentile(millis, 50), Percentile(millis, 90), Percentile(millis, 99),
      Percentile(millis, 99.9), millis.back());
  std::fflush(stdout);
  std::_Exit(0);  // the consumer's threads have nothing left to do
}

// load: writes events at a fixed rate, and consumes each of them.
//
// Writers commit transactions on a schedule. Each payload carries the number of its event and the
// time at which the event was due, by this machine's monotonic clock. A consumer in the same
// process reads one record per poll. Latencies begin at the scheduled time, not when a late writer
// sends the INSERT, so that a stall counts for every event that it delays (no coordinated
// omission).
//
// Measures for each event the latency to the broker's append and the latency to the consumer. The
// append time has whole milliseconds, of which the middle is used; the topic needs
// message.timestamp.type=LogAppendTime. Also counts events that were lost, repeated, or out of
// order within their key, and reports periods without records.
//
// Prints one line of JSON. This is a tool of the benchmark and shares no code with the relay.

#include <fmt/format.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kKeysPerWriter = 250;
constexpr double kSilence = 0.02;  // seconds; shorter silences are not reported

struct Options {
  std::string dsn;
  std::string kafka;
  std::string topic = "outbox.event.order";
  std::string table = "outbox";
  double rate = 1000;  // events per second
  double seconds = 20;
  double warmup = 5;            // not measured, seconds
  double timeout = 10;          // seconds without a record, after the last write, until it stops
  double settle = 0;            // seconds to continue after the last record
  int64_t payload = 300;        // bytes
  int64_t per_transaction = 1;  // events
  int64_t writers = 4;

  int64_t transactions() const {
    return std::llround(rate * (seconds + warmup) / static_cast<double>(per_transaction));
  }
  int64_t events() const { return transactions() * per_transaction; }
};

[[noreturn]] void Fail(std::string_view why) {
  fmt::print(stderr, "load: {}\n", why);
  std::exit(1);
}

Options Parse(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::string*> texts = {{"--dsn", &options.dsn},
                                                          {"--kafka", &options.kafka},
                                                          {"--topic", &options.topic},
                                                          {"--table", &options.table}};
  const std::map<std::string_view, double*> times = {{"--rate", &options.rate},
                                                     {"--seconds", &options.seconds},
                                                     {"--warmup", &options.warmup},
                                                     {"--timeout", &options.timeout},
                                                     {"--settle", &options.settle}};
  const std::map<std::string_view, int64_t*> counts = {
      {"--payload", &options.payload},
      {"--per-transaction", &options.per_transaction},
      {"--writers", &options.writers}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (texts.contains(name)) {
      *texts.at(name) = argv[i + 1];
    } else if (times.contains(name)) {
      *times.at(name) = std::stod(argv[i + 1]);
    } else if (counts.contains(name)) {
      *counts.at(name) = std::stoll(argv[i + 1]);
    } else {
      Fail(fmt::format("unknown option {}", name));
    }
  }
  return options;
}

int64_t Nanos(Clock::time_point time) {
  return time.time_since_epoch().count();
}

// The offset from the monotonic clock to the time of day, which the broker's timestamps use.
int64_t WallOffset() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(wall).count() - Nanos(Clock::now());
}

// Writes every `writers`-th transaction of the schedule.
class Writer {
 public:
  Writer(const Options& options, int64_t number, Clock::time_point start)
      : options_(options),
        number_(number),
        start_(start),
        measured_from_(start + std::chrono::nanoseconds(std::llround(options.warmup * 1e9))),
        connection_(PQconnectdb(options.dsn.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) {
      Fail(PQerrorMessage(connection_));
    }
    Prepare();
  }

  void Run() {
    for (int64_t t = number_; t < options_.transactions(); t += options_.writers) {
      const double due_seconds = static_cast<double>(t * options_.per_transaction) / options_.rate;
      const auto due = start_ + std::chrono::nanoseconds(std::llround(due_seconds * 1e9));
      std::this_thread::sleep_until(due);
      Insert(t, due);
    }
    PQfinish(connection_);
  }

  // Durations from the call to the server's response, milliseconds, without those of the warm-up.
  const std::vector<double>& commits() const { return commits_; }

 private:
  void Prepare() {
    char* table = PQescapeIdentifier(connection_, options_.table.data(), options_.table.size());
    std::string sql = fmt::format(
        "INSERT INTO {} (aggregate_type, aggregate_id, event_type, payload) VALUES ", table);
    PQfreemem(table);
    for (int64_t i = 0; i < options_.per_transaction; ++i) {
      sql += fmt::format("{}('order', ${}, 'OrderPlaced', ${})", i == 0 ? "" : ", ", 2 * i + 1,
                         2 * i + 2);
    }
    Check(PQprepare(connection_, "insert", sql.c_str(), 0, nullptr));
  }

  void Insert(int64_t transaction, Clock::time_point due) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < options_.per_transaction; ++i) {
      const int64_t n = transaction * options_.per_transaction + i;
      values.push_back(fmt::format("order-{}-{}", number_, n % kKeysPerWriter));
      std::string payload = fmt::format(R"({{"mark": "@{} {}@", "pad": ")", Nanos(due), n);
      const auto pad = options_.payload - static_cast<int64_t>(payload.size()) - 2;
      payload.append(static_cast<size_t>(std::max<int64_t>(pad, 0)), 'x').append("\"}");
      values.push_back(std::move(payload));
    }
    std::vector<const char*> pointers;
    for (const std::string& value : values) {
      pointers.push_back(value.c_str());
    }
    const auto called = Clock::now();
    Check(PQexecPrepared(connection_, "insert", static_cast<int>(pointers.size()), pointers.data(),
                         nullptr, nullptr, 0));
    if (due >= measured_from_) {
      commits_.push_back(static_cast<double>(Nanos(Clock::now()) - Nanos(called)) / 1e6);
    }
  }

  void Check(PGresult* result) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
      Fail(PQerrorMessage(connection_));
    }
    PQclear(result);
  }

  const Options& options_;
  const int64_t number_;
  const Clock::time_point start_;
  const Clock::time_point measured_from_;
  PGconn* const connection_;
  std::vector<double> commits_;
};

struct Arrival {
  int64_t n = 0;         // the event's number
  int64_t due = 0;       // monotonic, ns
  int64_t appended = 0;  // time of day, ns
  int64_t arrived = 0;   // monotonic, ns
};

class Consumer {
 public:
  explicit Consumer(const Options& options) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    const std::pair<const char*, std::string> settings[] = {{"bootstrap.servers", options.kafka},
                                                            {"group.id", "load"},
                                                            {"isolation.level", "read_committed"},
                                                            {"fetch.wait.max.ms", "500"},
                                                            {"fetch.min.bytes", "1"},
                                                            {"socket.nagle.disable", "true"},
                                                            {"reconnect.backoff.max.ms", "500"},
                                                            {"log_level", "0"}};
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

  // Returns false if no record of this tool arrived.
  bool Next(Arrival& out) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(client_, 20);
    if (message == nullptr) {
      return false;
    }
    out.arrived = Nanos(Clock::now());
    const bool good = message->err == RD_KAFKA_RESP_ERR_NO_ERROR && ReadMark(*message, out);
    rd_kafka_message_destroy(message);
    return good;
  }

 private:
  static bool ReadMark(const rd_kafka_message_t& message, Arrival& out) {
    rd_kafka_timestamp_type_t type{};
    out.appended = rd_kafka_message_timestamp(&message, &type) * 1'000'000 + 500'000;
    if (type != RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) {
      Fail("the topic does not use LogAppendTime");
    }
    const std::string_view payload(static_cast<const char*>(message.payload), message.len);
    const size_t at = payload.find('@');
    if (at == std::string_view::npos) {
      return false;
    }
    const char* const end = payload.data() + payload.size();
    const auto due = std::from_chars(payload.data() + at + 1, end, out.due);
    return due.ec == std::errc() && due.ptr != end &&
           std::from_chars(due.ptr + 1, end, out.n).ec == std::errc();
  }

  void AssignEnd(const std::string& topic) {
    const struct rd_kafka_metadata* metadata = nullptr;
    rd_kafka_topic_t* handle = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
    if (rd_kafka_metadata(client_, 0, handle, &metadata, 10'000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      Fail("cannot read the metadata of the topic");
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

// Records the arrival of each event.
class ExpectedEvents {
 public:
  ExpectedEvents(const Options& options, int64_t measured_from)
      : options_(options),
        measured_from_(measured_from),
        wall_offset_(WallOffset()),
        seen_(static_cast<size_t>(options.events())),
        latest_(static_cast<size_t>(options.writers * kKeysPerWriter), -1) {}

  void Add(const Arrival& arrival) {
    if (arrival.n < 0 || arrival.n >= options_.events()) {
      Fail(fmt::format("received event {}, which was never written", arrival.n));
    }
    NoteSilence(arrival.arrived);
    if (seen_[static_cast<size_t>(arrival.n)]) {
      ++duplicated_;
      return;
    }
    seen_[static_cast<size_t>(arrival.n)] = true;
    ++received_;
    const int64_t writer = arrival.n / options_.per_transaction % options_.writers;
    int64_t& latest =
        latest_[static_cast<size_t>(writer * kKeysPerWriter + arrival.n % kKeysPerWriter)];
    disordered_ += arrival.n < latest ? 1 : 0;
    latest = std::max(latest, arrival.n);
    if (arrival.due >= measured_from_) {
      append_.push_back(static_cast<double>(arrival.appended - wall_offset_ - arrival.due) / 1e6);
      consumer_.push_back(static_cast<double>(arrival.arrived - arrival.due) / 1e6);
    }
  }

  bool complete() const { return received_ == options_.events(); }
  int64_t last_arrival() const { return last_arrival_; }

  void Print(std::vector<double> commits) {
    std::string silences;
    for (const auto& [start, seconds] : silences_) {
      silences += fmt::format("{}[{:.3f}, {:.3f}]", silences.empty() ? "" : ", ", start, seconds);
    }
    fmt::print(R"({{"events": {}, "received": {}, "lost": {}, "duplicated": {}, "disordered": {}, )"
               R"("append": {}, "consumer": {}, "commit": {}, "silences": [{}]}})"
               "\n",
               options_.events(), received_, options_.events() - received_, duplicated_,
               disordered_, Distribution(append_), Distribution(consumer_), Distribution(commits),
               silences);
  }

 private:
  void NoteSilence(int64_t now) {
    const double seconds = static_cast<double>(now - last_arrival_) / 1e9;
    if (last_arrival_ != 0 && seconds > kSilence) {
      silences_.emplace_back(static_cast<double>(last_arrival_ + wall_offset_) / 1e9, seconds);
    }
    last_arrival_ = now;
  }

  // Percentiles, and for a plot of the tail [fraction, ms] for fractions that approach 1 by nines.
  static std::string Distribution(std::vector<double>& millis) {
    if (millis.empty()) {
      return "null";
    }
    std::sort(millis.begin(), millis.end());
    const auto at = [&](double part) {
      const auto rank = static_cast<size_t>(part * static_cast<double>(millis.size()));
      return millis[std::min(rank, millis.size() - 1)];
    };
    std::string curve = fmt::format("[0, {:.4g}]", millis.front());
    for (int step = 1; step <= 80; ++step) {
      const double part = 1 - std::pow(10.0, -step / 20.0);
      curve += fmt::format(", [{:.6g}, {:.4g}]", part, at(part));
    }
    return fmt::format(
        R"({{"count": {}, "p50": {:.4g}, "p90": {:.4g}, "p99": {:.4g}, "p999": {:.4g}, "max": {:.4g}, "curve": [{}]}})",
        millis.size(), at(0.5), at(0.9), at(0.99), at(0.999), millis.back(), curve);
  }

  const Options& options_;
  const int64_t measured_from_;
  const int64_t wall_offset_;
  std::vector<bool> seen_;
  std::vector<int64_t> latest_;  // by key: the highest number so far
  int64_t received_ = 0;
  int64_t duplicated_ = 0;
  int64_t disordered_ = 0;
  int64_t last_arrival_ = 0;
  std::vector<double> append_;
  std::vector<double> consumer_;
  std::vector<std::pair<double, double>> silences_;  // time of day, seconds
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  Consumer consumer(options);
  const auto start = Clock::now() + std::chrono::milliseconds(300);
  const auto seconds = [](double count) { return std::llround(count * 1e9); };
  ExpectedEvents expected(options, Nanos(start) + seconds(options.warmup));

  std::vector<Writer> writers;
  writers.reserve(static_cast<size_t>(options.writers));
  for (int64_t number = 0; number < options.writers; ++number) {
    writers.emplace_back(options, number, start);
  }
  std::vector<std::thread> threads;
  for (Writer& writer : writers) {
    threads.emplace_back([&writer] { writer.Run(); });
  }

  const int64_t written = Nanos(start) + seconds(options.warmup + options.seconds);
  const auto given_up = [&] {
    return Nanos(Clock::now()) >=
           std::max(written, expected.last_arrival()) + seconds(options.timeout);
  };
  const auto settled = [&] {
    return expected.complete() &&
           Nanos(Clock::now()) >= expected.last_arrival() + seconds(options.settle);
  };
  while (!settled() && !given_up()) {
    Arrival arrival;
    if (consumer.Next(arrival)) {
      expected.Add(arrival);
    }
  }
  std::vector<double> commits;
  for (size_t i = 0; i < writers.size(); ++i) {
    threads[i].join();
    commits.insert(commits.end(), writers[i].commits().begin(), writers[i].commits().end());
  }
  expected.Print(std::move(commits));
  std::fflush(stdout);
  std::_Exit(0);  // skips the shutdown of the consumer's threads
}

// stages: where the time of each event goes, in any relay that uses libpq and librdkafka.
//
// A library for LD_PRELOAD. It sees each row when PQgetCopyData() returns it, and each record by
// librdkafka's interceptors; the relay does not know. Rows and records are matched in their order,
// so it is right for steady loads without retries, in which each row becomes one record.
//
// For each acknowledged event it writes six 64-bit integers, in microseconds since 1970, to the
// file $WALRELAY_STAGES: commit and send of the row by the server's clock, row read, record
// produced, request sent, response received. At most the last kBuffered - 1 events are missing.
//
// This is a tool of the benchmark and shares no code with the relay.

#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kHeader = 25;  // of a message with data: 'w', start, end, time
constexpr int64_t kPostgresEpoch = 946'684'800'000'000;
constexpr int16_t kProduce = 0;  // the ApiKey of Kafka's produce requests
constexpr std::string_view kTopics = "outbox.event.";
constexpr size_t kBuffered = 64;

struct Row {
  int64_t commit = 0;
  int64_t sent = 0;
  int64_t read = 0;
};

struct Event {
  Row row;
  int64_t produced = 0;
  int64_t requested = 0;
  int64_t answered = 0;
};
static_assert(sizeof(Event) == 6 * sizeof(int64_t));

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t LoadTime(const char* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<int64_t>(be64toh(value)) + kPostgresEpoch;
}

// Used by the relay's thread and by librdkafka's threads.
class Trace {
 public:
  void OnMessage(const char* message, int length) {
    if (length <= kHeader || message[0] != 'w') {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (message[kHeader] == 'B' && length >= kHeader + 17) {
      commit_ = LoadTime(message + kHeader + 9);
    } else if (message[kHeader] == 'I') {
      rows_.push_back({commit_, LoadTime(message + 17), Now()});
    }
  }

  void OnProduced(const rd_kafka_message_t* record) {
    const std::lock_guard lock(mutex_);
    if (!rows_.empty() && IsEvent(record)) {
      events_[record] = {rows_.front(), Now(), 0, 0};
      rows_.pop_front();
    }
  }

  void OnAcknowledged(const rd_kafka_message_t* record, int64_t requested, int64_t answered) {
    const std::lock_guard lock(mutex_);
    const auto event = events_.extract(record);
    if (!event || record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return;
    }
    event.mapped().requested = requested;
    event.mapped().answered = answered;
    buffer_.push_back(event.mapped());
    if (buffer_.size() == kBuffered) {
      Write();
    }
  }

 private:
  static bool IsEvent(const rd_kafka_message_t* record) {
    return std::string_view(rd_kafka_topic_name(record->rkt)).substr(0, kTopics.size()) == kTopics;
  }

  void Write() {
    const size_t size = buffer_.size() * sizeof(Event);
    if (write(file_, buffer_.data(), size) != static_cast<ssize_t>(size)) {
      abort();
    }
    buffer_.clear();
  }

  const int file_ =
      open(getenv("WALRELAY_STAGES"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::mutex mutex_;
  int64_t commit_ = 0;
  std::deque<Row> rows_;  // read, and not produced yet
  std::unordered_map<const rd_kafka_message_t*, Event> events_;
  std::vector<Event> buffer_;
};

Trace& GetTrace() {
  static auto* trace = new Trace;  // never destroyed: threads of librdkafka may outlive main()
  return *trace;
}

// The request whose response this thread handles: librdkafka then acknowledges its records here.
thread_local int64_t requested = 0;
thread_local int64_t answered = 0;

rd_kafka_resp_err_t OnSend(rd_kafka_t* /*client*/, rd_kafka_message_t* record, void* /*opaque*/) {
  GetTrace().OnProduced(record);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

// Version 2.0.2 gives the id of each response as 0: the time of the request comes from the
// duration.
rd_kafka_resp_err_t OnResponseReceived(rd_kafka_t* /*client*/, int /*socket*/, const char* /*name*/,
                                       int32_t /*broker*/, int16_t api, int16_t /*version*/,
                                       int32_t /*id*/, size_t /*size*/, int64_t rtt,
                                       rd_kafka_resp_err_t /*error*/, void* /*opaque*/) {
  if (api == kProduce) {
    answered = Now();
    requested = answered - rtt;
  }
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnAcknowledgement(rd_kafka_t* /*client*/, rd_kafka_message_t* record,
                                      void* /*opaque*/) {
  GetTrace().OnAcknowledged(record, requested, answered);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t OnNew(rd_kafka_t* client, const rd_kafka_conf_t* /*conf*/, void* /*opaque*/,
                          char* /*reason*/, size_t /*size*/) {
  const char* name = "stages";
  rd_kafka_interceptor_add_on_send(client, name, OnSend, nullptr);
  rd_kafka_interceptor_add_on_response_received(client, name, OnResponseReceived, nullptr);
  rd_kafka_interceptor_add_on_acknowledgement(client, name, OnAcknowledgement, nullptr);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

template <typename Function>
Function* Next(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int PQgetCopyData(PGconn* connection, char** buffer, int async) {
  static auto* const next = Next(&PQgetCopyData, "PQgetCopyData");
  const int length = next(connection, buffer, async);
  if (length > 0) {
    GetTrace().OnMessage(*buffer, length);
  }
  return length;
}

extern "C" rd_kafka_t* rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t* conf, char* reason,
                                    size_t size) {
  static auto* const next = Next(&rd_kafka_new, "rd_kafka_new");
  if (type == RD_KAFKA_PRODUCER) {
    rd_kafka_conf_interceptor_add_on_new(conf, "stages", OnNew, nullptr);
  }
  return next(type, conf, reason, size);
}

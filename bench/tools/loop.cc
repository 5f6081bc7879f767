// loop: the shortest program that relays an outbox with libpq and librdkafka.
//
// The floor of these libraries: it reads the stream, sends each row of the table as one record, and
// confirms a position when nothing is in flight. It has no configuration, checks nothing, handles
// no error, and loses order or events where walrelay does not.
//
// This is a tool of the benchmark and shares no code with the relay.
//
// Usage: loop DSN KAFKA SLOT PUBLICATION

#include <endian.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "replication.h"

namespace {

using walrelay::bench::Fail;
using walrelay::bench::Load;

constexpr size_t kHeader = 25;  // of a message with data: 'w', start, end, time
constexpr std::chrono::milliseconds kConfirmInterval{100};

// The columns of an INSERT, in text format. A null value is empty.
struct Columns {
  explicit Columns(const char* at) : next(at) {}
  std::string_view Take() {
    const char kind = *next++;
    if (kind != 't') {
      return {};
    }
    const auto size = be32toh(Load<uint32_t>(next));
    const std::string_view value(next + sizeof(size), size);
    next += sizeof(size) + size;
    return value;
  }
  const char* next;
};

class Loop {
 public:
  Loop(const std::string& dsn, const std::string& kafka, const std::string& slot,
       const std::string& publication)
      : connection_(walrelay::bench::StartStream(dsn, slot, publication)) {
    char reason[512];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", kafka.c_str(), reason, sizeof(reason));
    rd_kafka_conf_set(conf, "enable.idempotence", "true", reason, sizeof(reason));
    rd_kafka_conf_set(conf, "linger.ms", "0", reason, sizeof(reason));
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    if (producer_ == nullptr) {
      Fail(reason);
    }
  }

  void Run() {
    while (true) {
      pollfd polled{PQsocket(connection_), POLLIN, 0};
      poll(&polled, 1, 10);
      if (PQconsumeInput(connection_) == 0) {
        Fail(PQerrorMessage(connection_));
      }
      char* message = nullptr;
      int size = 0;
      while ((size = PQgetCopyData(connection_, &message, /*async=*/1)) > 0) {
        Handle({message, static_cast<size_t>(size)});
        PQfreemem(message);
      }
      if (size < 0) {
        Fail(PQerrorMessage(connection_));
      }
      rd_kafka_poll(producer_, 0);
      Confirm();
    }
  }

 private:
  void Handle(std::string_view message) {
    if (message[0] == 'k') {
      read_ = be64toh(Load<uint64_t>(&message[1]));
    } else if (message[kHeader] == 'C') {
      read_ = be64toh(Load<uint64_t>(&message[kHeader + 10]));
    } else if (message[kHeader] == 'I') {
      Produce(Columns(&message[kHeader + 8]));
    }
  }

  // The columns of the benchmark's table: id, aggregate_type, aggregate_id, event_type, payload,
  // created_at, trace_id.
  void Produce(Columns columns) {
    const std::string_view id = columns.Take();
    const std::string topic = "outbox.event." + std::string(columns.Take());
    const std::string_view key = columns.Take();
    const std::string_view type = columns.Take();
    const std::string_view value = columns.Take();
    columns.Take();
    const std::string_view trace = columns.Take();
    rd_kafka_vu_t parts[] = {Part(RD_KAFKA_VTYPE_TOPIC),        Part(RD_KAFKA_VTYPE_KEY, key),
                             Part(RD_KAFKA_VTYPE_VALUE, value), Header("id", id),
                             Header("eventType", type),         Header("trace_id", trace),
                             Part(RD_KAFKA_VTYPE_MSGFLAGS)};
    parts[0].u.cstr = topic.c_str();
    parts[6].u.i = RD_KAFKA_MSG_F_COPY;
    while (rd_kafka_error_t* error = rd_kafka_produceva(producer_, parts, std::size(parts))) {
      rd_kafka_error_destroy(error);  // the queue is full
      rd_kafka_poll(producer_, 10);
    }
  }

  static rd_kafka_vu_t Part(rd_kafka_vtype_t type, std::string_view bytes = {}) {
    rd_kafka_vu_t part{};
    part.vtype = type;
    part.u.mem = {.ptr = const_cast<char*>(bytes.data()), .size = bytes.size()};
    return part;
  }
  static rd_kafka_vu_t Header(const char* name, std::string_view value) {
    rd_kafka_vu_t part{};
    part.vtype = RD_KAFKA_VTYPE_HEADER;
    part.u.header = {.name = name, .val = value.data(), .size = static_cast<ssize_t>(value.size())};
    return part;
  }

  void Confirm() {
    const auto now = std::chrono::steady_clock::now();
    if (read_ == confirmed_ || now - confirmed_at_ < kConfirmInterval ||
        rd_kafka_outq_len(producer_) > 0) {
      return;
    }
    walrelay::bench::SendStatus(connection_, read_);
    confirmed_ = read_;
    confirmed_at_ = now;
  }

  PGconn* const connection_;
  rd_kafka_t* producer_ = nullptr;
  uint64_t read_ = 0;
  uint64_t confirmed_ = 0;
  std::chrono::steady_clock::time_point confirmed_at_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    Fail("usage: DSN KAFKA SLOT PUBLICATION");
  }
  Loop(argv[1], argv[2], argv[3], argv[4]).Run();
}

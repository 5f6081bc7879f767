#include "sinks/kafka/producer/produce_call.h"

#include <chrono>
#include <iterator>

#include "base/check.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/delivery_report.h"

namespace walrelay {
namespace {

// librdkafka distinguishes NULL from empty by the pointer: a null value is a tombstone.
const char* NotNull(std::string_view bytes) {
  return bytes.data() != nullptr ? bytes.data() : "";
}

// We own the headers until a produce call has succeeded. (librdkafka before 2.12 frees headers
// passed inline twice if the partition does not exist.)
KafkaHeaders CopyHeaders(std::span<const Header> headers, const Header* last) {
  KafkaHeaders out(rd_kafka_headers_new(headers.size() + (last != nullptr ? 1 : 0)));
  const auto add = [&out](const Header& header) {
    const char* value = header.value ? NotNull(*header.value) : nullptr;
    const auto size = static_cast<ssize_t>(header.value ? header.value->size() : 0);
    rd_kafka_header_add(out.get(), header.name.data(), static_cast<ssize_t>(header.name.size()),
                        value, size);
  };
  for (const Header& header : headers) {
    add(header);
  }
  if (last != nullptr) {
    add(*last);
  }
  return out;
}

// The arguments of one produce call, in an array on the stack: one for each kind that is used.
class Arguments {
 public:
  rd_kafka_vu_t& Add(rd_kafka_vtype_t type) {
    WR_CHECK(count_ < std::size(arguments_), "there is room for each kind of argument");
    arguments_[count_].vtype = type;
    return arguments_[count_++];
  }
  void AddBytes(rd_kafka_vtype_t type, std::string_view bytes) {
    rd_kafka_vu_t& argument = Add(type);
    // Not const in librdkafka's structure; with MSG_F_COPY it only reads them.
    argument.u.mem.ptr = const_cast<char*>(NotNull(bytes));
    argument.u.mem.size = bytes.size();
  }

  rd_kafka_resp_err_t Produce(rd_kafka_t* client) {
    rd_kafka_error_t* error = rd_kafka_produceva(client, arguments_, count_);
    if (error == nullptr) {
      return RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
  }

 private:
  rd_kafka_vu_t arguments_[8];
  size_t count_ = 0;
};

// librdkafka interprets 0 as the current time: the first millisecond of 1970 becomes the second.
int64_t ToKafkaTime(WallTime time) {
  const int64_t ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return ms == 0 ? 1 : ms;
}

}  // namespace

rd_kafka_resp_err_t CallProduce(rd_kafka_t* client, rd_kafka_topic_t* topic, const Record& record,
                                DeliveryToken token, int32_t partition, const Header* last_header) {
  WR_CHECK(partition >= 0, "the producer chooses the partition, not librdkafka");
  Arguments arguments;
  arguments.Add(RD_KAFKA_VTYPE_RKT).u.rkt = topic;
  // Without a copy, librdkafka would need the bytes until the report: longer than the replication
  // message that they are views of.
  arguments.Add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  arguments.Add(RD_KAFKA_VTYPE_OPAQUE).u.ptr = ToOpaque(token);
  if (record.key) {
    arguments.AddBytes(RD_KAFKA_VTYPE_KEY, *record.key);
  }
  if (record.value) {
    arguments.AddBytes(RD_KAFKA_VTYPE_VALUE, *record.value);
  }
  arguments.Add(RD_KAFKA_VTYPE_PARTITION).u.i32 = partition;
  if (record.timestamp) {
    arguments.Add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = ToKafkaTime(*record.timestamp);
  }
  KafkaHeaders headers;
  if (!record.headers.empty() || last_header != nullptr) {
    headers = CopyHeaders(record.headers, last_header);
    arguments.Add(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
  }
  const rd_kafka_resp_err_t error = arguments.Produce(client);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    headers.release();  // librdkafka owns them after success only
  }
  return error;
}

}  // namespace walrelay

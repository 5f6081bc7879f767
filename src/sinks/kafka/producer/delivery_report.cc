#include "sinks/kafka/producer/delivery_report.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "sinks/kafka/client/delivery_error.h"

namespace walrelay {
namespace {

// The token travels as the message's opaque pointer: it has the size of a pointer, and nothing is
// allocated per record.
DeliveryToken TokenOf(const rd_kafka_message_t& message) {
  return std::bit_cast<DeliveryToken>(message._private);
}

// Equals Record::window_bytes(), so that the in-flight window releases exactly what it counted.
// Recomputed rather than remembered, because a size per record in flight would need a table of
// them. Reads the headers without copying them.
size_t WindowBytesOf(const rd_kafka_message_t& message, std::string_view added_header) {
  rd_kafka_headers_t* headers = nullptr;
  size_t bytes = Record::kOverheadBytes + message.len + message.key_len;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = "";
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      bytes += std::strlen(name) + size;
    }
    // The loop ends with the last header.
    if (!added_header.empty() && name == added_header) {
      bytes -= added_header.size() + size;
    }
  }
  return bytes;
}

}  // namespace

Delivery ToDelivery(const rd_kafka_message_t& message, std::string_view topic,
                    std::string_view added_header) {
  WR_CHECK(message.err == RD_KAFKA_RESP_ERR_NO_ERROR, "the message was delivered");
  // A latency of -1 means that librdkafka did not measure it.
  Delivery delivery{.token = TokenOf(message),
                    .bytes = WindowBytesOf(message, added_header),
                    .latency = Micros(std::max<int64_t>(rd_kafka_message_latency(&message), 0)),
                    .topic = topic,
                    .partition = message.partition,
                    .offset = message.offset};
  if (message.key != nullptr) {
    delivery.key = std::string_view(static_cast<const char*>(message.key), message.key_len);
  }
  return delivery;
}

DeliveryFailure ToDeliveryFailure(const rd_kafka_message_t& message, std::string_view topic,
                                  std::string_view added_header) {
  WR_CHECK(message.err != RD_KAFKA_RESP_ERR_NO_ERROR, "the message was not delivered");
  return {.token = TokenOf(message),
          .bytes = WindowBytesOf(message, added_header),
          .error = RefusedRecordError(message.err, topic, message.key != nullptr),
          .purged = IsPurged(message.err)};
}

void ReadHeaders(const rd_kafka_message_t& message, std::vector<Header>& out) {
  out.clear();
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;  // librdkafka reports a message without headers as an error
  }
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    out.push_back({name, value == nullptr ? std::nullopt
                                          : std::optional(std::string_view(
                                                static_cast<const char*>(value), size))});
  }
}

}  // namespace walrelay

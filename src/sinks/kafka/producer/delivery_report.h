// The translation of librdkafka's delivery reports into a Delivery or a DeliveryFailure.
//
// A report is the message that was produced, with the brokers' answer: librdkafka still holds the
// record's bytes. The results are views into it, valid as long as the event that contains it.
//
// Pure functions. Source: rdkafka.h, rd_kafka_message_t and RD_KAFKA_EVENT_DR.
#pragma once

#include <librdkafka/rdkafka.h>

#include <bit>
#include <string_view>
#include <vector>

#include "walrelay/sink.h"

namespace walrelay {

static_assert(sizeof(void*) == sizeof(DeliveryToken), "a token travels as a message's opaque");

// A token as the opaque pointer of a produced message: librdkafka returns it with the report and
// never dereferences it. (A pointer to a table of tokens would need an entry per record in flight.)
inline void* ToOpaque(DeliveryToken token) {
  return std::bit_cast<void*>(token);
}

// An acknowledged message, without its headers. `topic`: its name, which must outlive the result.
// `added_header`: a header of this name at the end is the producer's, not the record's; "": none.
Delivery ToDelivery(const rd_kafka_message_t& message, std::string_view topic,
                    std::string_view added_header = {});

// A message that will not be delivered. Its error is that of RefusedRecordError().
DeliveryFailure ToDeliveryFailure(const rd_kafka_message_t& message, std::string_view topic,
                                  std::string_view added_header = {});

// Replaces the content of `out` by the message's headers, in order.
void ReadHeaders(const rd_kafka_message_t& message, std::vector<Header>& out);

}  // namespace walrelay

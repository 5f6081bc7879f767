// One call of librdkafka's produce function.
//
// rd_kafka_produceva() takes an array of tagged values instead of named arguments. Unlike
// rd_kafka_produce() it accepts headers and a timestamp; unlike rd_kafka_producev(), whose
// arguments are variadic, it allows to leave out the parts that a record does not have.
//
// Pure, except for the call. Source: rdkafka.h, rd_kafka_produceva and rd_kafka_vtype_t.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>

#include "walrelay/record.h"
#include "walrelay/sink.h"

namespace walrelay {

// Puts a record into the client's queue; never blocks. librdkafka copies all bytes of the record
// before it returns, and returns `token` with the report (see delivery_report.h). `topic` belongs
// to `client`. Call it on the producer's thread only: the order of the calls is that of the
// records.
//
// `last_header` follows those of the record; nullptr: none.
//
// RD_KAFKA_RESP_ERR_NO_ERROR: accepted, and exactly one report follows. Otherwise nothing was kept.
// REQUIRES: `partition` is not negative.
rd_kafka_resp_err_t CallProduce(rd_kafka_t* client, rd_kafka_topic_t* topic, const Record& record,
                                DeliveryToken token, int32_t partition,
                                const Header* last_header = nullptr);

}  // namespace walrelay

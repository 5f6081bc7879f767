// Sinks of commands that publish rows beside a running relay.
#pragma once

#include "walrelay/sink.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

// Sinks with the configuration of the relay's: acks=all, idempotent, with its limits and its
// rules for topics. Never with a transactional id, also with pipeline.mode = "exactly_once":
// the relay's id would fence the relay, and with another one the records of a run could only be
// committed in pieces, so that a repeated run would repeat records all the same. Consumers that
// read committed records see a record as soon as it is acknowledged. `sinks` must outlive the
// result.
SinkMaker RepublishSinks(SinkFactory& sinks);

}  // namespace walrelay

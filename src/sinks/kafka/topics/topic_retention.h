// How long topics keep records, by the records' own time.
//
// Brokers delete a segment when its latest time is older than retention.ms. A record with the
// commit time of an event that waited for longer than that is deleted soon after it was
// acknowledged. Pure.
#pragma once

#include <optional>

#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/clock.h"

namespace walrelay {

// How long a topic keeps a record after the record's time; nullopt: independent of that time, or
// unknown.
std::optional<Micros> KeptFor(const TopicInfo& topic);

}  // namespace walrelay

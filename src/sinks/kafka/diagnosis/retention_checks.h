// Checks whether Kafka keeps the events that it acknowledges.
#pragma once

#include <optional>
#include <span>

#include "findings/findings.h"
#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/clock.h"

namespace walrelay {

struct ErrorPolicy;
struct RouteConfig;

// Compares the topics' retention with the age of the oldest event that is not published; nullopt:
// none is known. The dead-letter topic is not compared. Needs no server.
void CheckRetention(const RouteConfig& route, const ErrorPolicy& on_error,
                    std::span<const TopicInfo> topics, std::optional<Micros> oldest, Findings& out);

}  // namespace walrelay

// The simulated outbox: its tables, its rows, and the record expected for each row. A row is a
// function of its event's number, so that any component can check any record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fakes/pgoutput_writer.h"
#include "oracle.h"
#include "walrelay/config.h"
#include "walrelay/record.h"

namespace walrelay::sim {

constexpr uint32_t kOutboxOid = 16385;
constexpr uint32_t kOtherOid = 16390;
constexpr uint32_t kLeafOid = 16395;  // a table that inherits from the outbox
constexpr int kSchemaCount = 3;       // column sets of the table, by ALTER TABLE
constexpr int kTopicCount = 3;
constexpr int64_t kMaxRecordBytes = 5'000;  // the producer's own limit
constexpr std::string_view kDeadLetterTopic = "dead.letters";
constexpr std::string_view kMergedTopic = "outbox.event.order";  // also a topic of TopicOf()
constexpr std::string_view kMessagePrefix = "outbox";
constexpr std::string_view kPipelineId = "p";
constexpr std::string_view kProgressTopic = "walrelay.progress.p";
constexpr int kNoEvent = -1;  // of a progress record

std::string TopicOf(uint32_t key);
// Whether applications insert rows of the key into the leaf instead of the outbox itself.
constexpr bool IsInLeaf(uint32_t key) {
  return key % 3 == 1;
}
// The configuration may route all events to one topic instead. A number for what is configured:
// RoutingDigest() of the simulator.
RouteConfig MergedRoute();
uint32_t RoutingOf(const Config& config);
bool IsMerged(uint32_t routing);
// The Relation message of a table with the columns of `schema`, as pgoutput sends it.
std::string DescribeTable(uint32_t oid, int schema);
// The values of an event's row with the columns of `schema`.
testing::Row RowOf(int id, const Event& event, int schema);
// The same event as the content of a logical message.
std::string ContentOf(int id, const Event& event);

// The event that a record was made from; nullopt when unknown.
std::optional<int> EventOf(const Record& record);
// Describes what is wrong with the content of an event's record; empty if it is correct. `topic`:
// that of an event without a flaw.
std::string WrongWith(const Record& record, int id, const Event& event, std::string_view topic);

}  // namespace walrelay::sim

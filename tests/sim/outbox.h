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
constexpr int kSchemaCount = 3;  // column sets of the table, by ALTER TABLE
constexpr int kTopicCount = 3;
constexpr int64_t kMaxRecordBytes = 5'000;  // the producer's own limit
constexpr std::string_view kDeadLetterTopic = "dead.letters";
constexpr std::string_view kMessagePrefix = "outbox";
constexpr std::string_view kPipelineId = "p";
constexpr std::string_view kProgressTopic = "walrelay.progress.p";
constexpr int kNoEvent = -1;  // of a progress record

std::string TopicOf(uint32_t key);
// The Relation message of a table with the columns of `schema`, as pgoutput sends it.
std::string DescribeTable(uint32_t oid, int schema);
// The values of an event's row with the columns of `schema`.
testing::Row RowOf(int id, const Event& event, int schema);
// The same event as the content of a logical message.
std::string ContentOf(int id, const Event& event);

// The event that a record was made from; nullopt when unknown.
std::optional<int> EventOf(const Record& record);
// Describes what is wrong with the content of an event's record; empty if it is correct.
std::string WrongWith(const Record& record, int id, const Event& event);

}  // namespace walrelay::sim

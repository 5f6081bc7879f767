// The outbox of the simulation: its tables, what its rows look like, and which record each must
// become. A row is a function of its event's number, so that anything can be checked anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "judge.h"
#include "support/pgoutput_writer.h"
#include "walrelay/config.h"
#include "walrelay/record.h"

namespace walrelay::sim {

constexpr uint32_t kOutboxOid = 16385;
constexpr uint32_t kOtherOid = 16390;
constexpr int kSchemaCount = 3;  // shapes that the table has had, by ALTER TABLE
constexpr int kTopicCount = 3;
constexpr int64_t kMaxRecordBytes = 5'000;  // the producer's own limit
constexpr std::string_view kDeadLetterTopic = "dead.letters";
constexpr std::string_view kMessagePrefix = "outbox";

std::string TopicOf(uint32_t key);
// The description of a table in one of its shapes, as pgoutput sends it.
std::string DescribeTable(uint32_t oid, int schema);
// The values of an event's row in one of the table's shapes.
testing::Row RowOf(int id, const Event& event, int schema);
// The same event as the content of a logical message.
std::string ContentOf(int id, const Event& event);

// Which event a record is of; nullopt when it is not to be told.
std::optional<int> EventOf(const Record& record);
// What is wrong with the content of an event's record; empty when nothing is.
std::string WrongWith(const Record& record, int id, const Event& event);

}  // namespace walrelay::sim

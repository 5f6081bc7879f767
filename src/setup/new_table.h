// The SQL that creates an outbox table: with walrelay's columns, and partitioned if that is asked
// for.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/partition_period.h"

namespace walrelay {

struct OutboxTable;

// A table to create that is partitioned by its time column: for the periods from `now` on.
struct NewPartitions {
  PartitionPeriod period = PartitionPeriod::kDaily;
  WallTime now;
};

// "schema"."name".
std::string QuotedName(const OutboxTable& table);

// One or several statements. The columns have walrelay's default names, unless others are
// configured; parts that are mapped to no column are left out. A CHECK keeps out a row whose record
// would be larger than `max_record_bytes`. REQUIRES: the table has a name; max_record_bytes > 0.
std::string CreateTable(const OutboxTable& table, const std::optional<NewPartitions>& partitions,
                        int64_t max_record_bytes);

}  // namespace walrelay

// The SQL that creates an outbox table: with walrelay's columns, and partitioned if that is asked
// for.
//
// Pure.
#pragma once

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
// configured; parts that are mapped to no column are left out. REQUIRES: the table has a name.
std::string CreateTable(const OutboxTable& table, const std::optional<NewPartitions>& partitions);

}  // namespace walrelay

// Decides which partitions of an outbox table are missing, and which are old enough to be dropped.
//
// A partition covers [from, to) of the time column. Age alone never decides that a partition is
// dropped: MaintainPartitions (postgres/outbox_partitions.h) checks every row of it.
//
// Pure; times are UTC.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/partition_period.h"

namespace walrelay {

// WallTime::min() and WallTime::max() stand for MINVALUE and MAXVALUE, and for the infinities.
struct PartitionBounds {
  WallTime from;
  WallTime to;

  friend bool operator==(const PartitionBounds&, const PartitionBounds&) = default;
};

// A partition that exists. `bounds` of a DEFAULT partition have no meaning.
struct OutboxPartition {
  std::string schema;
  std::string name;
  PartitionBounds bounds;
  bool is_default = false;
  bool never_dropped = false;  // partitioned itself, a foreign table, or unlogged
};

// The start of the period that contains `time`, and the start of the next one.
WallTime PeriodStart(PartitionPeriod period, WallTime time);
WallTime NextPeriod(PartitionPeriod period, WallTime time);

// How many periods ahead have a partition unless the operator chooses: enough for a weekend, during
// which nothing may run that creates partitions.
int UsualAhead(PartitionPeriod period);

// The partitions to create, ascending: they cover the period of `now` and the `ahead` periods after
// it. Existing bounds are respected: only what no partition covers is created, so a table may
// change its period, and may have partitions that an operator created.
std::vector<PartitionBounds> MissingPartitions(PartitionPeriod period, int ahead,
                                               std::span<const OutboxPartition> existing,
                                               WallTime now);

// "outbox_default", for rows that no other partition covers.
std::string DefaultPartitionName(std::string_view table);

// "outbox_p20261124", with the hour for hourly partitions and without the day for monthly ones; all
// digits of the time if it is not the start of a period. At most 63 bytes, which is the limit of
// Postgres: the end of a long table name is cut, at a character of UTF-8.
std::string PartitionName(std::string_view table, PartitionPeriod period, WallTime from);

// Whether every row of the partition is older than `keep`. Never a DEFAULT partition or one that
// is never dropped.
bool IsOlderThan(const OutboxPartition& partition, Micros keep, WallTime now);

}  // namespace walrelay

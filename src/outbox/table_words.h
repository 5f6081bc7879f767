// The figures of an outbox table as text for operators.
//
// Pure. The texts contain names from the catalog: the formats escape them.
#pragma once

#include <string>

#include "outbox/table_reading.h"

namespace walrelay {

// "public.outbox: 812 rows, at most 12 not published, the oldest for 3 min". Why rows were not
// counted is part of it.
std::string RowsWords(const TableReading& table);

// "48 KiB with indexes, 31 dead rows, last vacuum 2 h ago".
std::string SizeWords(const TableReading& table);

}  // namespace walrelay

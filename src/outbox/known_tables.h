// Tables of libraries, recognized by their columns: what an operator has to know before walrelay
// publishes one, or why it cannot.
//
// Pure.
#pragma once

#include <span>
#include <string_view>

#include "outbox/table_description.h"

namespace walrelay {

struct KnownTable {
  std::string_view name;  // of the library
  // In the form of NormalizedName(): a table with all of these columns.
  std::span<const std::string_view> columns;
  bool unsuitable = false;
  std::string_view note;  // unsuitable: why; otherwise what to decide, in full sentences
  // The column that holds the topic, although its name does not say so; "": none.
  std::string_view topic_column = {};
  // The library reads the rows after their events: they may neither be deleted nor marked.
  bool needs_rows = false;
};

// nullptr: none.
const KnownTable* FindKnownTable(const TableDescription& table);

}  // namespace walrelay

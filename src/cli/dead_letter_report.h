// Dead letters as text and as JSON. Pure. Text from rows is escaped.
#pragma once

#include <string>

#include "republish/dead_letter_topic.h"

namespace walrelay {

struct SourceConfig;

// One line, without the newline: id, time, code, table, the row's id and key, "retried" if it was,
// "truncated" if its row is, and the reason.
std::string DeadLetterLine(const DeadLetterEntry& entry, const SourceConfig& source);

// All parts of one letter, a line each, with the values of the row. Truncated values are marked.
std::string DeadLetterText(const DeadLetterEntry& entry);

// The same as one JSON object without a newline; without the row's values if `with_row` is false.
// Values that are not UTF-8 are in "value_base64".
std::string DeadLetterJson(const DeadLetterEntry& entry, const SourceConfig& source, bool with_row);

}  // namespace walrelay

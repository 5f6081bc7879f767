// A property in a text of java.util.Properties, in which Debezium expects a span's context
// (`tracingspancontext`). It is for row data: it rejects nothing. debezium/java_properties.h is
// strict and is for files written by operators.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace walrelay {

// The value of `key`, the last one if there are several; nullopt if it is absent. Valid as long as
// `text` and `arena`. Every text is accepted; content that is not recognised is ignored or part of
// a value.
std::optional<std::string_view> PropertyIn(std::string_view text, std::string_view key,
                                           Arena& arena);

}  // namespace walrelay

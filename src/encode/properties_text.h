// The text format of java.util.Properties, read: where Debezium expects a span's context
// (`tracingspancontext`). For row data, so it refuses nothing and allocates nothing;
// config/java_properties.h is for what an operator wrote, and strict.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace walrelay {

// The value of `key`, the last one where there are several; nullopt when it is not there. Lives as
// long as `text` and `arena`. Any text has an answer: what is not understood is somebody's value.
//
// Source: java.util.Properties.load(Reader).
std::optional<std::string_view> PropertyIn(std::string_view text, std::string_view key,
                                           Arena& arena);

}  // namespace walrelay

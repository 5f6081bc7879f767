// Properties that walrelay refuses in general, and that change no record of a given connector.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "debezium/debezium_translation.h"

namespace walrelay {

// The reason why the property `name` changes nothing; "": it may change what is published.
// `connector`: all properties; `router`: the prefix of the router's options; `overrides`: the
// settings of the operator, whose values are unknown here. Static text.
std::string_view WhyWithoutEffect(std::string_view name, const DebeziumOptions& connector,
                                  std::string_view router, const DebeziumTranslation& translation,
                                  const std::set<std::string>& overrides);

}  // namespace walrelay

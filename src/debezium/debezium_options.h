// Translates the options of Debezium's outbox EventRouter and of Connect's converters to
// walrelay's: everything that decides the bytes of a record.
//
// One table defines the translation of each option for all callers. An option for which walrelay
// would silently behave differently from Debezium is refused, by name and with the reason.
//
// Source: io.debezium.transforms.outbox.EventRouterConfigDefinition, Debezium 3.7.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "debezium/debezium_translation.h"

namespace walrelay {

// Debezium's own defaults, where walrelay's differ.
DebeziumTranslation DebeziumDefaults();

// Translates an option of the router; `name` without the prefix "transforms.outbox.". nullopt: the
// router has no such option, and Connect ignores it.
std::optional<PropertyResult> TranslateRouterOption(std::string_view name, const std::string& value,
                                                    DebeziumTranslation& out);

// Translates a connector's property that decides bytes, including converters. `connector` holds all
// properties, because some depend on others.
std::optional<PropertyResult> TranslateFormatOption(std::string_view name, const std::string& value,
                                                    const DebeziumOptions& connector,
                                                    DebeziumTranslation& out);

// Translates options of DecodeLogicalDecodingMessageContent, which parses logical messages for the
// router, and the connector's property that selects the messages.
std::optional<PropertyResult> TranslateMessageDecoderOption(std::string_view name,
                                                            const std::string& value,
                                                            DebeziumTranslation& out);
PropertyResult TranslateMessagePrefixes(const std::string& value, DebeziumTranslation& out);

// Translates all router and format options; unknown options are ignored. Errors: WR-1003
// (ConfigValue), for the first refused option.
absl::StatusOr<DebeziumTranslation> TranslateDebezium(const DebeziumOptions& router,
                                                      const DebeziumOptions& connector);

}  // namespace walrelay

// From the options of Debezium's outbox EventRouter and of Connect's converters to walrelay's: all
// that decides the bytes of a record.
//
// One table says what becomes of each option, so that whoever translates a connector's
// configuration says the same. What walrelay would do otherwise than Debezium without telling is
// refused, by name and with the reason.
//
// Source: io.debezium.transforms.outbox.EventRouterConfigDefinition, Debezium 3.6.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/debezium_translation.h"

namespace walrelay {

// Debezium's own defaults, where walrelay's differ.
DebeziumTranslation DebeziumDefaults();

// What becomes of an option of the router, without its prefix ("transforms.outbox."). nullopt: the
// router has no such option, and Connect would not mind.
std::optional<Fate> TranslateRouterOption(std::string_view name, const std::string& value,
                                          DebeziumTranslation& out);

// The same of a connector's property that decides bytes, converters among them. `connector` holds
// them all, for some depend on others.
std::optional<Fate> TranslateFormatOption(std::string_view name, const std::string& value,
                                          const DebeziumOptions& connector,
                                          DebeziumTranslation& out);

// Of DecodeLogicalDecodingMessageContent, which takes logical messages apart for the router; and of
// the connector's property that chooses them.
std::optional<Fate> TranslateMessageDecoderOption(std::string_view name, const std::string& value,
                                                  DebeziumTranslation& out);
Fate TranslateMessagePrefixes(const std::string& value, DebeziumTranslation& out);

// Both, for all options; those that neither knows are ignored. Errors: WR-1003 (ConfigValue), for
// the first that is refused.
absl::StatusOr<DebeziumTranslation> TranslateDebezium(const DebeziumOptions& router,
                                                      const DebeziumOptions& connector);

}  // namespace walrelay

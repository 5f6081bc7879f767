// Writes the walrelay.toml for an existing table, with the reasons as comments.
//
// Pure.
#pragma once

#include <string>

#include "outbox/table_description.h"
#include "outbox/table_mapping.h"

namespace walrelay {

struct KafkaConfig;
struct SourceConfig;

// `config` has what the operator has set: the DSN (whose passwords are written as "***"), the names
// of slot and publication, and the brokers, for which a placeholder is written if there are none.
// The result is a valid configuration.
std::string MappingToml(const TableDescription& table, const TableMapping& mapping,
                        const SourceConfig& source, const KafkaConfig& kafka);

}  // namespace walrelay

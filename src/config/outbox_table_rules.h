// The rules for the outbox tables of a configuration: their columns, placements and transforms.
//
// Part of [source], see source_section.cc. [[source.tables]], [[source.placement]] and
// [[source.transform]] have no options with ranges: file_reader.h reads them.
#pragma once

#include "config/config_errors.h"

namespace walrelay {

struct Config;

// Adds the errors of all tables. Names of columns are not checked: the catalog is not known.
void CheckOutboxTables(const Config& config, ConfigErrors& errors);

}  // namespace walrelay

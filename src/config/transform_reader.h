// Reads [[source.transform]]: column, apply, length, algorithm, salt.
#pragma once

#include <vector>

#include "config/file_problems.h"
#include "config/toml_library.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {

// The transforms of the array `node`. A transform with an error may lack values.
std::vector<ColumnTransform> ReadTransforms(const toml::node& node, FileProblems& problems);

}  // namespace walrelay

// Derives the commands and flags as data (command_tree.h) from the definition that parses them.
//
// Pure.
#pragma once

#include "cli/command_tree.h"

namespace CLI {
class App;
}

namespace walrelay {

// Without hidden commands, and without exit statuses, which the definition does not have.
CommandTree BuildCommandTree(const CLI::App& app);

}  // namespace walrelay

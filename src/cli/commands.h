// The functions that return the commands: one for each row of commands.def.
#pragma once

#include "cli/command.h"

namespace walrelay {

#define WALRELAY_COMMAND(factory) Command factory();
#include "cli/commands.def"
#undef WALRELAY_COMMAND

}  // namespace walrelay

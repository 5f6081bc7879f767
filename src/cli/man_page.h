// Manual pages in the macros of man(7).
#pragma once

#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace walrelay {

struct ManPage {
  std::string file;  // "walrelay-run.1"
  std::string text;
};

// walrelay(1), one page for each command, and walrelay.toml(5).
// `version`: of the program, for the foot of each page. The pages contain no date, so that a build
// can be reproduced.
std::vector<ManPage> ManPages(const CommandTree& tree, const std::string& version);

}  // namespace walrelay

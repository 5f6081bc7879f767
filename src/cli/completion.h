// Completion of the command line by shells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/command_tree.h"

namespace walrelay {

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// The script that a shell reads to complete commands, flags and their values. nullopt for a shell
// that is not one of kShells. Needs no package of the shell's (bash-completion only finds the
// file).
std::optional<std::string> CompletionScript(const CommandTree& tree, std::string_view shell);

}  // namespace walrelay

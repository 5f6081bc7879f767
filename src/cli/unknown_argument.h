// Messages about a command line that was not understood, with a suggestion.
//
// CLI11 reports unknown arguments in reverse order and without suggestions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace walrelay {

// The command of this name directly below `app`; nullptr if there is none. Valid as long as `app`.
const CLI::App* Subcommand(const CLI::App& app, std::string_view name);

// `app` has no command `word`.
std::string UnknownCommand(const CLI::App& app, std::string_view word);

// The message about the first argument that the command line does not know; "" if it knows all.
std::string FirstUnknown(const CLI::App& program, std::span<char*> arguments);

}  // namespace walrelay

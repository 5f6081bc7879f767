// The commands and flags of the program as data. Completions (completion.h) and manual pages
// (man_page.h) are generated from it; command_tree_builder.h derives it from the definition that
// parses the command line.
//
// Values, no views: a tree may outlive the definition.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

// A flag, or an argument without a name.
struct FlagNode {
  std::vector<std::string> names;  // "-c", "--config"; empty: a positional argument
  std::string value;               // the name of its value, "FILE"; "": it has none
  std::string description;         // one sentence, without a full stop
  bool value_is_optional = false;
  bool repeatable = false;
};

struct CommandNode {
  std::string name;  // "walrelay" for the program itself
  std::string description;
  std::vector<FlagNode> flags;  // and arguments
  std::vector<CommandNode> commands;
};

// The values that a shell proposes for every flag whose value has this name. A word that ends with
// "=" is continued without a space.
struct ValueWords {
  std::string value;
  std::vector<std::string> words;
};

struct ExitStatus {
  int code;
  std::string meaning;
};

struct CommandTree {
  CommandNode program;
  std::vector<ValueWords> values;
  std::vector<ExitStatus> exit_statuses;
};

// The value that is the name of a file.
inline constexpr char kFileValue[] = "FILE";

// The beginning of a description, for menus and lists: up to a colon, a semicolon, a full stop or a
// parenthesis.
inline std::string_view FirstClause(std::string_view description) {
  size_t end = description.size();
  for (const std::string_view mark : {": ", "; ", ". ", " ("}) {
    end = std::min(end, description.find(mark));
  }
  return description.substr(0, end);
}

}  // namespace walrelay

#include "cli/unknown_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "config/suggestion.h"

namespace walrelay {
namespace {

// "run" for the command itself, "" for the program.
std::string WhereOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? "" : app.get_name() + ": ";
}

std::string UnknownFlag(const CLI::App& app, std::string_view flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("{}unknown option \"{}\"{}", WhereOf(app), flag, DidYouMean(flag, views));
}

bool HasPositionals(const CLI::App& app) {
  const auto options = app.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

// How many of the arguments are values of this option: those that it requires, and those that it
// may have up to the next flag.
size_t ValuesOf(const CLI::Option& option, std::span<char*> arguments) {
  const auto required = static_cast<size_t>(option.get_items_expected_min());
  const auto allowed = static_cast<size_t>(option.get_items_expected_max());
  size_t count = 0;
  while (count < std::min(allowed, arguments.size()) &&
         (count < required || arguments[count][0] != '-')) {
    ++count;
  }
  return count;
}

}  // namespace

const CLI::App* Subcommand(const CLI::App& app, std::string_view name) {
  const auto all =
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
  return all.empty() ? nullptr : all.front();
}

std::string UnknownCommand(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("{}unknown command \"{}\"{}", WhereOf(app), word, DidYouMean(word, views));
}

std::string FirstUnknown(const CLI::App& program, std::span<char*> arguments) {
  const CLI::App* app = &program;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with('-') && word.size() > 1) {
      const std::string_view flag =
          word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
      const CLI::Option* option = app->get_option_no_throw(std::string(flag));
      if (option == nullptr) {
        return UnknownFlag(*app, word.starts_with("--") ? flag : word);
      }
      i += flag == word ? ValuesOf(*option, arguments.subspan(i + 1)) : 0;
    } else if (const CLI::App* sub = Subcommand(*app, word)) {
      app = sub;
    } else if (app->get_require_subcommand_min() > 0) {
      return UnknownCommand(*app, word);
    } else if (!HasPositionals(*app)) {
      return fmt::format("{}unexpected argument \"{}\"", WhereOf(*app), word);
    }
  }
  return app->get_require_subcommand_min() > 0 ? WhereOf(*app) + "a command is missing" : "";
}

}  // namespace walrelay

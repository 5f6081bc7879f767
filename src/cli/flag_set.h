// FlagSet: declares the flags and arguments of a command (command.h).
//
// It hides CLI11, which takes long to compile. A command line that violates a declaration is a
// usage error, and the command does not run. Main thread only.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace walrelay {

// A declared flag or argument: the functions restrict it. It is valid as long as the command line.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}

  Flag& Required();
  Flag& OneOf(const std::vector<std::string>& values);
  // Both limits are allowed.
  Flag& Between(int least, int most);
  Flag& Between(double least, double most);
  // `other`: a name of a flag that was declared before, such as "--apply". --help shows the rule.
  Flag& Needs(const char* other);
  Flag& Excludes(const char* other);

 private:
  CLI::Option* option_;
};

// `names`: "--json", or "-o,--output"; a name without dashes is that of an argument, which has only
// a place on the command line. `value` is set while the line is parsed, and keeps its content if
// the flag is not given: REQUIRES that it lives until the command has ended. `type`: the name of
// the value in --help; the same name stands for the same values everywhere (command_tree.h).
// `text`: one sentence without a full stop.
class FlagSet {
 public:
  explicit FlagSet(CLI::App& command) : command_(command) {}

  Flag Add(const char* names, bool& value, const char* text);
  // Value: std::string, std::optional<std::string>, std::vector<std::string>, int, uint64_t or
  // double. A vector makes the flag repeatable; "" leaves an optional without a value.
  template <typename Value>
  Flag Add(const char* names, Value& value, const char* type, const char* text);
  // Adds a flag whose value may be omitted: `given` is set by the flag, `value` by its value.
  Flag AddWithOptionalValue(const char* names, bool& given, std::string& value, const char* type,
                            const char* text);

 private:
  CLI::App& command_;
};

}  // namespace walrelay

#include "cli/flag_set.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

namespace walrelay {

Flag& Flag::Required() {
  option_->required();
  return *this;
}

Flag& Flag::OneOf(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Flag& Flag::Between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Flag& Flag::Between(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Flag& Flag::Needs(const char* other) {
  option_->needs(other);
  return *this;
}

Flag& Flag::Excludes(const char* other) {
  option_->excludes(other);
  return *this;
}

Flag FlagSet::Add(const char* names, bool& value, const char* text) {
  return Flag(command_.add_flag(names, value, text));
}

template <typename Value>
Flag FlagSet::Add(const char* names, Value& value, const char* type, const char* text) {
  return Flag(command_.add_option(names, value, text)->type_name(type));
}

template Flag FlagSet::Add(const char*, std::string&, const char*, const char*);
template Flag FlagSet::Add(const char*, std::optional<std::string>&, const char*, const char*);
template Flag FlagSet::Add(const char*, std::vector<std::string>&, const char*, const char*);
template Flag FlagSet::Add(const char*, int&, const char*, const char*);
template Flag FlagSet::Add(const char*, uint64_t&, const char*, const char*);
template Flag FlagSet::Add(const char*, double&, const char*, const char*);

// CLI11 calls the function for a flag without a value, too.
Flag FlagSet::AddWithOptionalValue(const char* names, bool& given, std::string& value,
                                   const char* type, const char* text) {
  const auto set = [&given, &value](const std::string& text_given) {
    given = true;
    value = text_given;
  };
  return Flag(
      command_.add_option_function<std::string>(names, set, text)->type_name(type)->expected(0, 1));
}

}  // namespace walrelay

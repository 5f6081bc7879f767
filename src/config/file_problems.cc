#include "config/file_problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "config/config_errors.h"
#include "config/suggestion.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The names that are valid, unless they are too many to read.
std::string Listed(const std::vector<std::string_view>& known) {
  constexpr size_t kReadable = 12;
  return known.size() > kReadable ? "; docs/configuration.md lists every key"
                                  : fmt::format("; expected one of {}", fmt::join(known, ", "));
}

}  // namespace

Origin FileProblems::At(const toml::source_region& region) const {
  return {fmt::format("{}:{}:{}", file_name_, region.begin.line, region.begin.column),
          region.begin.line, region.begin.column};
}

void FileProblems::Add(const toml::source_region& region, std::string_view option,
                       const absl::Status& error) {
  if (places_.emplace(region.begin.line, region.begin.column).second) {
    out_.Add(At(region), option, error);
  }
}

void FileProblems::Invalid(const toml::source_region& region, std::string_view what) {
  Add(region, "", InvalidValue(what));
}

void FileProblems::Unknown(const toml::key& key, std::string_view where,
                           const std::vector<std::string_view>& known, std::string_view option) {
  const std::string suggestion = DidYouMean(key.str(), known);
  Add(key.source(), option,
      Error(ErrorCode::kConfigUnknownKey,
            fmt::format("unknown {} \"{}\"{}", where, Printable(key.str(), 80),
                        suggestion.empty() ? Listed(known) : suggestion)));
}

bool FileProblems::CheckIsTable(const toml::node& node, std::string_view name) {
  if (!node.is_table()) {
    Invalid(node.source(), fmt::format("{}: expected a table", name));
  }
  return node.is_table();
}

std::vector<const toml::table*> FileProblems::ElementsOf(const toml::node& node,
                                                         std::string_view name) {
  std::vector<const toml::table*> tables;
  const auto* array = node.as_array();
  if (array == nullptr || array->empty() || !array->is_array_of_tables()) {
    Invalid(node.source(), fmt::format("expected an array of tables: [[{}]]", name));
    return tables;
  }
  for (const toml::node& element : *array) {
    tables.push_back(element.as_table());
  }
  return tables;
}

}  // namespace walrelay

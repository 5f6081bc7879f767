// FileProblems: what is wrong in a configuration file, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "config/problems.h"
#include "config/toml_library.h"

namespace walrelay {

// The readers of the parts of a file share one. They read on after an error, so that an operator
// fixes all of them in one go. Not thread-safe.
class FileProblems {
 public:
  // `file_name`: for origins. Both outlive this object.
  FileProblems(const std::string& file_name, ConfigProblems& out)
      : file_name_(file_name), out_(out) {}

  // "walrelay.toml:12:3", which editors and terminals can open.
  Origin At(const toml::source_region& region) const;

  // Records the first error at a place: another would follow from it. `option`: as in
  // ConfigProblems::Add(). REQUIRES: !error.ok().
  void Add(const toml::source_region& region, std::string_view option, const absl::Status& error);
  // WR-1003 without an option.
  void Invalid(const toml::source_region& region, std::string_view what);
  // WR-1002 for `key`. `where`: "key of a table". `known`: the names that are valid at this
  // position. `option`: the one that was probably meant.
  void Unknown(const toml::key& key, std::string_view where,
               const std::vector<std::string_view>& known, std::string_view option = "");

  // False, with an error, if `node` is not a table.
  bool CheckIsTable(const toml::node& node, std::string_view name);
  // The tables of [[name]], of which there is at least one; none after an error.
  std::vector<const toml::table*> ElementsOf(const toml::node& node, std::string_view name);

  // The places that have an error. A reader compares it with an earlier one before it reports an
  // error that could follow from one of these.
  size_t count() const { return places_.size(); }

 private:
  const std::string& file_name_;
  ConfigProblems& out_;
  std::set<std::pair<uint32_t, uint32_t>> places_;  // line and column
};

}  // namespace walrelay

// ColumnNames: the names that one column may have.
//
// A row is decoded with the names that its table had when the row was written. A column that is
// renamed has its old name in the rows of the WAL from before, and its new name in those from after
// it: a mapping that has both names suits both.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walrelay {

// The preferred name comes first: a row uses the first one that its version of the table has. Names
// are those of the catalog, without quotes and case-sensitive. An object without a name stands for
// a part that has no column.
class ColumnNames {
 public:
  ColumnNames() = default;
  // Implicit, because nearly every column has one name. "": no column.
  ColumnNames(std::string name) {  // NOLINT(google-explicit-constructor)
    if (!name.empty()) {
      names_.push_back(std::move(name));
    }
  }
  ColumnNames(const char* name)  // NOLINT(google-explicit-constructor)
      : ColumnNames(std::string(name)) {}
  // REQUIRES: no name is empty.
  explicit ColumnNames(std::vector<std::string> names) : names_(std::move(names)) {}

  bool empty() const { return names_.empty(); }
  const std::vector<std::string>& all() const { return names_; }
  // The name of the column in a table that is created now; "": no column.
  std::string preferred() const { return names_.empty() ? "" : names_.front(); }
  bool Contains(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  bool operator==(const ColumnNames&) const = default;

 private:
  std::vector<std::string> names_;
};

}  // namespace walrelay

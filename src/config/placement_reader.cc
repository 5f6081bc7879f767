#include "config/placement_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "config/choices.h"
#include "config/suggestion.h"
#include "config/toml_value.h"

namespace walrelay {
namespace {

class PlacementReader {
 public:
  explicit PlacementReader(FileProblems& problems) : problems_(problems) {}

  // The name defaults to the preferred one of the column. A key that is missing because it is
  // misspelt is not reported again.
  Placement Read(const toml::table& table) {
    Placement out;
    const size_t errors = problems_.count();
    for (auto&& [key, node] : table) {
      ReadKey(key, node, out);
    }
    if (!table.contains("column") && problems_.count() == errors) {
      problems_.Invalid(table.source(), "source.placement: a placement requires a column");
    }
    if (out.name.empty()) {
      out.name = out.column.preferred();
    }
    return out;
  }

 private:
  void ReadKey(const toml::key& key, const toml::node& node, Placement& out) {
    const std::vector<std::string_view> known = {"column", "to", "as"};
    const auto* text = node.as_string();
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      problems_.Unknown(key, "key of a placement", known);
    } else if (key.str() == "column") {
      out.column = ReadColumn(node, "source.placement.column", problems_).value_or("");
    } else if (text == nullptr || text->get().empty()) {
      problems_.Invalid(node.source(),
                        fmt::format("source.placement.{}: expected a name", key.str()));
    } else if (key.str() == "as") {
      out.name = text->get();
    } else if (const auto where = ChoiceNamed<Placement::Where>(text->get())) {
      out.where = *where;
    } else {
      problems_.Invalid(node.source(),
                        fmt::format("source.placement.to: expected \"header\", \"envelope\" "
                                    "or \"partition\", got \"{}\"{}",
                                    Printable(text->get(), 80),
                                    DidYouMean(text->get(), kChoiceNames<Placement::Where>)));
    }
  }

  FileProblems& problems_;
};

}  // namespace

std::vector<Placement> ReadPlacements(const toml::node& node, FileProblems& problems) {
  std::vector<Placement> placements;
  for (const toml::table* placement : problems.ElementsOf(node, "source.placement")) {
    placements.push_back(PlacementReader(problems).Read(*placement));
  }
  return placements;
}

}  // namespace walrelay

#include "cli/command_tree_builder.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "config/option.h"
#include "findings/checks.h"
#include "metrics/metrics.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class TreeBuilder {
 public:
  static CommandTree Build(const CLI::App& app) {
    TreeBuilder builder;
    builder.tree_.values = {Assignments(), Subjects()};
    builder.tree_.program = builder.Describe(app);
    return std::move(builder.tree_);
  }

 private:
  // "source.dsn=" and the others, for --set.
  static ValueWords Assignments() {
    ValueWords out{"SECTION.KEY=VALUE", {}};
    for (const Option& option : Options()) {
      out.words.push_back(option.Name() + "=");
    }
    return out;
  }

  // The subjects of `explain`.
  static ValueWords Subjects() {
    ValueWords out{"SUBJECT", {}};
    for (const ErrorEntry& entry : ErrorCatalogue()) {
      out.words.push_back(ToString(entry.code));
    }
    for (const CheckEntry& check : kChecks) {
      out.words.emplace_back(check.name);
    }
    for (const MetricEntry& metric : Metrics::Catalogue()) {
      out.words.emplace_back(metric.name);
    }
    for (const Option& option : Options()) {
      out.words.push_back(option.Name());
    }
    return out;
  }

  CommandNode Describe(const CLI::App& app) {
    CommandNode node{.name = app.get_name(), .description = app.get_description()};
    for (const CLI::Option* option : app.get_options()) {
      node.flags.push_back(Describe(*option));
    }
    // A hidden command has no group.
    for (const CLI::App* child :
         app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
      node.commands.push_back(Describe(*child));
    }
    return node;
  }

  FlagNode Describe(const CLI::Option& option) {
    FlagNode node{.description = option.get_description()};
    for (const std::string& name : option.get_snames()) {
      node.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
      node.names.push_back("--" + name);
    }
    if (option.get_items_expected_max() > 0) {
      node.value = ReadValue(option.get_type_name());
      node.value_is_optional = option.get_items_expected_min() == 0;
      node.repeatable = option.get_items_expected_max() > 1;
    }
    return node;
  }

  // The name of a value. CLI11 appends what its validators expect: "FORMAT:{text,json}",
  // "INT:INT in [1 - 60]".
  std::string ReadValue(const std::string& type) {
    const size_t choices = type.find(":{");
    const std::string name =
        type.substr(0, std::min({choices, type.find(":INT"), type.find(":FLOAT")}));
    if (choices != std::string::npos) {
      ValueWords value{name, {}};
      for (size_t at = choices + 2; at < type.size();) {
        const size_t end = type.find_first_of(",}", at);
        value.words.push_back(type.substr(at, end - at));
        at = end + 1;
      }
      AddValue(std::move(value));
    }
    return name;
  }

  // The same name stands for the same words everywhere.
  void AddValue(ValueWords value) {
    for (const ValueWords& known : tree_.values) {
      if (known.value == value.value) {
        WR_CHECK(known.words == value.words, "two kinds of values have the same name");
        return;
      }
    }
    tree_.values.push_back(std::move(value));
  }

  CommandTree tree_;
};

}  // namespace

CommandTree BuildCommandTree(const CLI::App& app) {
  return TreeBuilder::Build(app);
}

}  // namespace walrelay

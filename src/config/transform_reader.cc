#include "config/transform_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "config/choices.h"
#include "config/toml_value.h"

namespace walrelay {
namespace {

class TransformReader {
 public:
  explicit TransformReader(FileProblems& problems) : problems_(problems) {}

  // Rejects a key that the kind of transform does not use, because it would have no effect.
  ColumnTransform Read(const toml::table& table) {
    ColumnTransform out;
    const size_t errors = problems_.count();
    for (auto&& [key, node] : table) {
      ReadKey(key, node, out);
    }
    if (problems_.count() != errors) {
      return out;
    }
    const bool hashes = out.kind == ColumnTransform::Kind::kHash ||
                        out.kind == ColumnTransform::Kind::kHashSerialized;
    const std::string_view kind = NameOfChoice(out.kind);
    for (const std::string_view required : {"column", "apply"}) {
      if (!table.contains(required)) {
        problems_.Invalid(table.source(),
                          fmt::format("source.transform: a transform requires \"{}\"", required));
      }
    }
    for (const std::string_view key : {"length", "algorithm", "salt"}) {
      const bool used = (key != "length") == hashes;
      if (used && !table.contains(key)) {
        problems_.Invalid(table.source(),
                          fmt::format("source.transform: \"{}\" requires \"{}\"", kind, key));
      } else if (!used && table.contains(key)) {
        problems_.Invalid(table.get(key)->source(),
                          fmt::format("source.transform: \"{}\" has no \"{}\"", kind, key));
      }
    }
    return out;
  }

 private:
  void ReadKey(const toml::key& key, const toml::node& node, ColumnTransform& out) {
    const std::vector<std::string_view> known = {"column", "apply", "length", "algorithm", "salt"};
    const auto* text = node.as_string();
    const bool is_text = text != nullptr && !text->get().empty();
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      problems_.Unknown(key, "key of a transform", known);
    } else if (key.str() == "length") {
      ReadLength(node, out);
    } else if (key.str() == "apply") {
      ReadChoice(key, node, out.kind);
    } else if (key.str() == "algorithm") {
      ReadChoice(key, node, out.algorithm);
    } else if (key.str() == "column") {
      out.column = ReadColumn(node, "source.transform.column", problems_).value_or("");
    } else if (!is_text) {
      problems_.Invalid(node.source(),
                        fmt::format("source.transform.{}: expected a text", key.str()));
    } else {
      out.salt = Secret(text->get());
    }
  }

  void ReadLength(const toml::node& node, ColumnTransform& out) {
    const auto* number = node.as_integer();
    if (number == nullptr || number->get() < 0 ||
        number->get() > std::numeric_limits<int32_t>::max()) {
      problems_.Invalid(node.source(), "source.transform.length: expected 0 to 2147483647");
    } else {
      out.length = number->get();
    }
  }

  template <typename Enum>
  void ReadChoice(const toml::key& key, const toml::node& node, Enum& out) {
    const auto* text = node.as_string();
    const auto choice = text == nullptr ? std::nullopt : ChoiceNamed<Enum>(text->get());
    if (choice) {
      out = *choice;
      return;
    }
    problems_.Invalid(
        node.source(),
        fmt::format(
            "source.transform.{}: expected one of {}{}", key.str(),
            fmt::join(kChoiceNames<Enum>, ", "),
            text == nullptr ? "" : fmt::format(", got \"{}\"", Printable(text->get(), 80))));
  }

  FileProblems& problems_;
};

}  // namespace

std::vector<ColumnTransform> ReadTransforms(const toml::node& node, FileProblems& problems) {
  std::vector<ColumnTransform> transforms;
  for (const toml::table* transform : problems.ElementsOf(node, "source.transform")) {
    transforms.push_back(TransformReader(problems).Read(*transform));
  }
  return transforms;
}

}  // namespace walrelay

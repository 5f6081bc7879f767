#include "debezium/property_tree.h"

#include <fmt/format.h>
#include <simdjson.h>
#include <yaml.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "debezium/json_mistake.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Both far above any real configuration.
constexpr int kMaxLevels = 32;
constexpr int kMaxNodes = 20'000;  // a YAML alias can repeat everything before it

absl::Status Malformed(std::string_view what) {
  return Error(ErrorCode::kConfigSyntax, what);
}

// Counts nodes and levels, and rejects a tree that is too large to be a configuration.
class Bounds {
 public:
  absl::Status Enter(int level) {
    return level <= kMaxLevels && ++nodes_ <= kMaxNodes
               ? absl::OkStatus()
               : Malformed("too large or too deep for a configuration");
  }

 private:
  int nodes_ = 0;
};

// Linear per name, and so quadratic in their number, which Bounds limits.
absl::Status Add(std::string name, PropertyNode value, PropertyNode& map) {
  if (map.Find(name) != nullptr) {
    return Malformed(fmt::format("\"{}\" is given twice", Printable(name, 80)));
  }
  map.names.push_back(std::move(name));
  map.items.push_back(std::move(value));
  return absl::OkStatus();
}

// Recursive; Bounds limits the depth.
class JsonBuilder {
 public:
  absl::StatusOr<PropertyNode> Build(const simdjson::dom::element& element, int level = 0) {
    WR_RETURN_IF_ERROR(bounds_.Enter(level));
    PropertyNode out;
    if (simdjson::dom::object object; element.get(object) == simdjson::SUCCESS) {
      out.kind = PropertyNode::Kind::kMap;
      for (const auto& [name, member] : object) {
        WR_ASSIGN_OR_RETURN(PropertyNode value, Build(member, level + 1));
        WR_RETURN_IF_ERROR(Add(std::string(name), std::move(value), out));
      }
    } else if (simdjson::dom::array array; element.get(array) == simdjson::SUCCESS) {
      out.kind = PropertyNode::Kind::kList;
      for (const simdjson::dom::element& item : array) {
        WR_ASSIGN_OR_RETURN(out.items.emplace_back(), Build(item, level + 1));
      }
    } else if (!element.is_null()) {
      out.kind = PropertyNode::Kind::kScalar;
      // Text without its quotes; numbers and booleans as they are written, because every property
      // of Connect is text.
      std::string_view text;
      out.text =
          element.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(element);
    }
    return out;
  }

 private:
  Bounds bounds_;
};

class YamlBuilder {
 public:
  explicit YamlBuilder(yaml_document_t& document) : document_(document) {}

  absl::StatusOr<PropertyNode> Build(int index, int level = 0) {
    WR_RETURN_IF_ERROR(bounds_.Enter(level));
    const yaml_node_t& node = *yaml_document_get_node(&document_, index);
    switch (node.type) {
      case YAML_SCALAR_NODE:
        return Scalar(node);
      case YAML_SEQUENCE_NODE:
        return List(node, level);
      case YAML_MAPPING_NODE:
        return Map(node, level);
      case YAML_NO_NODE:
        break;
    }
    return PropertyNode();
  }

 private:
  static std::string TextOf(const yaml_node_t& node) {
    return {node.data.scalar.value, node.data.scalar.value + node.data.scalar.length};
  }

  // Only plain scalars can be null: "null" in quotes is text. Numbers and booleans stay text.
  static PropertyNode Scalar(const yaml_node_t& node) {
    PropertyNode out{.text = TextOf(node)};
    const bool is_null = node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                         (out.text.empty() || out.text == "~" || out.text == "null");
    out.kind = is_null ? PropertyNode::Kind::kNull : PropertyNode::Kind::kScalar;
    return out;
  }

  absl::StatusOr<PropertyNode> List(const yaml_node_t& node, int level) {
    PropertyNode out{.kind = PropertyNode::Kind::kList};
    const auto& items = node.data.sequence.items;
    for (const int* item = items.start; item != items.top; ++item) {
      WR_ASSIGN_OR_RETURN(out.items.emplace_back(), Build(*item, level + 1));
    }
    return out;
  }

  absl::StatusOr<PropertyNode> Map(const yaml_node_t& node, int level) {
    PropertyNode out{.kind = PropertyNode::Kind::kMap};
    const auto& pairs = node.data.mapping.pairs;
    for (const yaml_node_pair_t* pair = pairs.start; pair != pairs.top; ++pair) {
      // YAML allows a list or a map as a key; no configuration has one.
      const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
      if (key.type != YAML_SCALAR_NODE) {
        return Malformed(fmt::format("line {}: expected a name", key.start_mark.line + 1));
      }
      WR_ASSIGN_OR_RETURN(PropertyNode value, Build(pair->value, level + 1));
      WR_RETURN_IF_ERROR(Annotate(Add(TextOf(key), std::move(value), out),
                                  fmt::format("line {}", key.start_mark.line + 1)));
    }
    return out;
  }

  yaml_document_t& document_;
  Bounds bounds_;
};

// As editors count: lines and columns from 1, a column per byte.
std::string PlaceOf(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return fmt::format("line {}, column {}", line, at - (before.rfind('\n') + 1) + 1);
}

absl::Status NotJson(std::string_view text, simdjson::error_code error) {
  // Text in another encoding than UTF-8 has no mistake in its syntax.
  const auto mistake = FindJsonMistake(text);
  return Malformed(mistake ? fmt::format("{}: not JSON: expected {}", PlaceOf(text, mistake->at),
                                         mistake->expected)
                           : fmt::format("not JSON: {}", simdjson::error_message(error)));
}

}  // namespace

const PropertyNode* PropertyNode::Find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return &items[i];
    }
  }
  return nullptr;
}

// The whole text must be one value: simdjson rejects what follows it.
absl::StatusOr<PropertyNode> ParseJson(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
    return NotJson(text, error);
  }
  return JsonBuilder().Build(root);
}

// libyaml composes a document at a time, and resolves aliases while it is walked here.
absl::StatusOr<PropertyNode> ParseYaml(std::string_view text) {
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) {
    return Malformed("out of memory");
  }
  const std::unique_ptr<yaml_parser_t, decltype(&yaml_parser_delete)> ends(&parser,
                                                                           &yaml_parser_delete);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  PropertyNode out{.kind = PropertyNode::Kind::kList};
  while (true) {
    yaml_document_t document;
    if (yaml_parser_load(&parser, &document) == 0) {
      const char* problem = parser.problem;
      return Malformed(fmt::format("line {}, column {}: not YAML: {}", parser.problem_mark.line + 1,
                                   parser.problem_mark.column + 1,
                                   problem == nullptr ? "out of memory" : problem));
    }
    // Every document that was loaded has to be deleted, also the empty one at the end of the text.
    const std::unique_ptr<yaml_document_t, decltype(&yaml_document_delete)> released(
        &document, &yaml_document_delete);
    if (yaml_document_get_root_node(&document) == nullptr) {
      return out;
    }
    WR_ASSIGN_OR_RETURN(out.items.emplace_back(), YamlBuilder(document).Build(1));
  }
}

}  // namespace walrelay

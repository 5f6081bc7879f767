#include "debezium/property_tree.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

std::string TextAt(const PropertyNode& node, std::string_view name) {
  const PropertyNode* found = node.Find(name);
  return found == nullptr ? "(none)" : found->text;
}

TEST(PropertyTreeTest, JsonKeepsTheTextOfItsValues) {
  const auto tree =
      ParseJson(R"({"a": true, "b": 5432, "c": "x\u00e9\"", "d": null, "e": {"f": ["g"]}})");
  ASSERT_THAT(tree, IsOk());
  EXPECT_EQ(TextAt(*tree, "a"), "true");
  EXPECT_EQ(TextAt(*tree, "b"), "5432");
  EXPECT_EQ(TextAt(*tree, "c"), "xé\"");
  EXPECT_EQ(tree->Find("d")->kind, PropertyNode::Kind::kNull);
  EXPECT_EQ(tree->Find("e")->Find("f")->items.front().text, "g");
}

TEST(PropertyTreeTest, YamlKeepsTheTextOfItsValues) {
  const auto tree =
      ParseYaml("a: true\nb: 5432\nc: \"x\\\"\"\nd: ~\ne:\n  f: [g]\n---\nsecond: 'null'\n");
  ASSERT_THAT(tree, IsOk());
  ASSERT_EQ(tree->items.size(), 2U);
  const PropertyNode& first = tree->items.front();
  EXPECT_EQ(TextAt(first, "a"), "true");
  EXPECT_EQ(TextAt(first, "b"), "5432");
  EXPECT_EQ(TextAt(first, "c"), "x\"");
  EXPECT_EQ(first.Find("d")->kind, PropertyNode::Kind::kNull);
  EXPECT_EQ(first.Find("e")->Find("f")->items.front().text, "g");
  EXPECT_EQ(tree->items.back().Find("second")->kind, PropertyNode::Kind::kScalar);
}

TEST(PropertyTreeTest, DuplicateNameIsAnError) {
  EXPECT_THAT(ParseJson(R"({"a": 1, "a": 2})"),
              HasError(ErrorCode::kConfigSyntax, "\"a\" is given twice"));
  EXPECT_THAT(ParseYaml("a: 1\na: 2\n"), HasError(ErrorCode::kConfigSyntax, "line 2"));
}

TEST(PropertyTreeTest, MalformedTextIsAnError) {
  for (const char* text : {"", "{", "{} x", "{\"a\": }", "{\"a\": 1,}", "{\"\xff\": 1}"}) {
    EXPECT_THAT(ParseJson(text), HasError(ErrorCode::kConfigSyntax, "")) << text;
  }
  EXPECT_THAT(
      ParseJson("{\"a\": 1\n  \"b\": 2}"),
      HasError(ErrorCode::kConfigSyntax, "line 2, column 3: not JSON: expected a comma or }"));
  EXPECT_THAT(ParseYaml("a: [1\nb: 2"), HasError(ErrorCode::kConfigSyntax, "line 2"));
  EXPECT_THAT(ParseYaml("[a]: 1"), HasError(ErrorCode::kConfigSyntax, "line 1"));
}

TEST(PropertyTreeTest, DepthIsBounded) {
  const std::string deep(200, '[');
  EXPECT_THAT(ParseJson(deep + std::string(200, ']')), HasError(ErrorCode::kConfigSyntax, ""));
  EXPECT_THAT(ParseYaml(deep + std::string(200, ']')), HasError(ErrorCode::kConfigSyntax, ""));
}

TEST(PropertyTreeTest, AliasesAreBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 8; ++j) {
      bomb += ", " + before;
    }
    bomb += "]\n";
  }
  EXPECT_THAT(ParseYaml(bomb), HasError(ErrorCode::kConfigSyntax, "too large"));
  EXPECT_THAT(ParseYaml("a: &a [*a]"), HasError(ErrorCode::kConfigSyntax, ""));
}

}  // namespace
}  // namespace walrelay

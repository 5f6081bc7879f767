#include "config/toml_writer.h"

#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

TEST(TomlWriterTest, BlankLineSeparatesTables) {
  TomlWriter out;
  out.Table("source");
  out.Set("slot", TomlString("s"), "default");
  out.Table("source");
  out.SetInComment("id", "auto");
  out.Element("source.tables");
  out.Set("name", TomlString("a"));
  out.Element("source.tables");
  EXPECT_EQ(std::move(out).Finish(), R"([source]
slot = "s"  # default
# id = auto

[[source.tables]]
name = "a"

[[source.tables]]
)");
}

TEST(TomlWriterTest, ValuesHaveTomlSyntax) {
  EXPECT_EQ(ToToml(std::vector<std::string>{"a\"b", "c,d"}), R"(["a\"b", "c,d"])");
  EXPECT_EQ(ToToml(RawValue(true)), "true");
  EXPECT_EQ(ToToml(RawValue(int64_t{7})), "7");
  EXPECT_EQ(ToToml(Secret("hunter2")), "\"***\"");
  EXPECT_EQ(ToToml(Micros(1'500'000)), "\"1500ms\"");
  EXPECT_EQ(TomlInlineTable({{"to", ToToml(Placement::Where::kEnvelope)}}),
            R"({ to = "envelope" })");
}

}  // namespace
}  // namespace walrelay

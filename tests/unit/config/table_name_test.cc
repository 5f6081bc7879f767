#include "config/table_name.h"

#include <gtest/gtest.h>

#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

// "schema|name", or "invalid".
std::string Parsed(std::string_view text) {
  const auto parsed = ParseTableName(text);
  return parsed ? parsed->schema + "|" + parsed->name : "invalid";
}

TEST(TableNameTest, PartsMayBeQuoted) {
  EXPECT_EQ(Parsed("outbox"), "public|outbox");
  EXPECT_EQ(Parsed("shop.outbox"), "shop|outbox");
  EXPECT_EQ(Parsed("shop.\"out.box\""), "shop|out.box");
  EXPECT_EQ(Parsed("\"my.shop\".outbox"), "my.shop|outbox");
  EXPECT_EQ(Parsed("\"a\"\"b\""), "public|a\"b");
}

TEST(TableNameTest, InvalidTextIsNoName) {
  for (const char* const text :
       {"", ".", "a.", ".a", "a..b", "a.b.c", "\"", "\"a", "\"a\"b", "\"\"", "\"\".a"}) {
    EXPECT_EQ(Parsed(text), "invalid") << text;
  }
}

TEST(TableNameTest, QualifiedNamesAreReadAsTheyWereWritten) {
  for (const char* const name : {"outbox", "out.box", "a\"b", "\"", "a b", "Outbox", "."}) {
    for (const char* const schema : {"public", "my.shop"}) {
      EXPECT_EQ(Parsed(QualifiedName({.schema = schema, .name = name})),
                std::string(schema) + "|" + name);
    }
  }
}

TEST(TableNameTest, OnlyPartsThatNeedQuotesHaveThem) {
  EXPECT_EQ(QualifiedName({.schema = "shop", .name = "outbox"}), "shop.outbox");
  EXPECT_EQ(QualifiedName({.schema = "my.shop", .name = "a\"b"}), "\"my.shop\".\"a\"\"b\"");
}

}  // namespace
}  // namespace walrelay

// The tables of [[source.transform]] and their errors, through the loader.
#include "config/transform_reader.h"

#include <gtest/gtest.h>

#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class TransformReaderTest : public testing::ConfigFixture {};

TEST_F(TransformReaderTest, TransformsHaveTheKeysOfTheirKind) {
  const Config config = Load(R"toml(
    [[source.transform]]
    column = "payload"
    apply = "truncate"
    length = 20
    [[source.transform]]
    column = "name"
    apply = "mask"
    length = 0
    [[source.tables]]
    name = "a"
    [[source.tables]]
    name = "b"
    transform = [{ column = "mail", apply = "hash", algorithm = "SHA-512/256", salt = "x" }]
  )toml");
  ASSERT_EQ(config.source.tables.size(), 2u);
  const auto& common = config.source.tables[0].transforms;
  ASSERT_EQ(common.size(), 2u);
  EXPECT_EQ(common[0], (ColumnTransform{.column = "payload", .length = 20}));
  EXPECT_EQ(common[1], (ColumnTransform{.column = "name", .kind = ColumnTransform::Kind::kMask}));
  ASSERT_EQ(config.source.tables[1].transforms.size(), 3u);
  EXPECT_EQ(config.source.tables[1].transforms[2],
            (ColumnTransform{.column = "mail",
                             .kind = ColumnTransform::Kind::kHash,
                             .algorithm = HashAlgorithm::kSha512To256,
                             .salt = Secret("x")}));
}

TEST_F(TransformReaderTest, InvalidTransformIsRejected) {
  const auto transform = [](const std::string& keys) { return "[[source.transform]]\n" + keys; };
  ExpectBadValue(transform("column = 'a'"), "requires \"apply\"");
  ExpectBadValue(transform("apply = 'mask'\nlength = 1"), "requires \"column\"");
  ExpectBadValue(transform("column = 'a'\napply = 'mask'"), "\"mask\" requires \"length\"");
  ExpectBadValue(transform("column = 'a'\napply = 'mask'\nlength = 1\nsalt = 'x'"),
                 "\"mask\" has no \"salt\"");
  ExpectBadValue(transform("column = 'a'\napply = 'hash'\nsalt = 'x'"),
                 "\"hash\" requires \"algorithm\"");
  ExpectBadValue(transform("column = 'a'\napply = 'hash'\nsalt = 'x'\nalgorithm = 'MD2'"),
                 "expected one of MD5, SHA-1, SHA-224");
  ExpectBadValue(transform("column = 'a'\napply = 'shorten'\nlength = 1"),
                 "expected one of truncate, mask, hash, hash_serialized, got \"shorten\"");
  ExpectBadValue(transform("column = 'a'\napply = 'truncate'\nlength = -1"), "0 to 2147483647");
  ExpectUnknown(transform("colum = 'a'\napply = 'truncate'\nlength = 1"),
                "key of a transform \"colum\"");
  ExpectBadValue(transform("column = ''\napply = 'mask'\nlength = 1"),
                 "expected a name, or a list");
  ExpectBadValue("[source]\ntransform = 'x'", "expected an array of tables");
}

TEST_F(TransformReaderTest, ColumnMayHaveSeveralNames) {
  const Config config =
      Load("[[source.transform]]\ncolumn = ['mail', 'e_mail']\napply = 'mask'\nlength = 3\n");
  EXPECT_EQ(config.source.tables[0].transforms[0].column,
            ColumnNames(std::vector<std::string>{"mail", "e_mail"}));
}

}  // namespace
}  // namespace walrelay

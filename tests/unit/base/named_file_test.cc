#include "base/named_file.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

TEST(NamedFileTest, FileAndDirectoryCanBeRead) {
  const testing::TemporaryDirectory directory;
  EXPECT_THAT(CheckNamedFile("kafka.ssl_ca_file", directory.Write("ca.pem", "")), IsOk());
  EXPECT_THAT(CheckNamedFile("kafka.ssl_ca_file", directory.File("")), IsOk());
}

TEST(NamedFileTest, OptionWithoutAFileIsValid) {
  EXPECT_THAT(CheckNamedFile("kafka.ssl_ca_file", ""), IsOk());
}

TEST(NamedFileTest, MessageNamesPurposeAndPath) {
  const testing::TemporaryDirectory directory;
  const std::string missing = directory.File("missing.pem");
  EXPECT_THAT(CheckNamedFile("kafka.ssl_ca_file", missing),
              HasError(ErrorCode::kNamedFile, "kafka.ssl_ca_file: \"" + missing + "\": No such"));
}

}  // namespace
}  // namespace walrelay
